# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pure reader per format. Private to trackbed.cluster.

A reader module defines KIND, TITLE, VERSIONS, SOURCES, PROVEN, FIELDS,
`recognise(text) -> int` (0: not mine, 100: surely mine) and
`read(data) -> Reading`. It is found by its presence in this package.
"""
