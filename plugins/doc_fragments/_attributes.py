# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes that all modules state about themselves. Private to trackbed.cluster."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation fragments; the attribute names are the sections."""

    # What each attribute means; a module adds its own `support`.
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description:
      - Can run in C(check_mode) and return changed status prediction without modifying target.
  diff_mode:
    description:
      - Will return details on what has changed (or possibly needs changing in C(check_mode)),
        when in diff mode.
  idempotent:
    description:
      - When run twice in a row outside check mode, with the same arguments, the second run
        indicates no change.
  platform:
    description:
      - Target operating systems that can be operated against.
    support: full
    platforms: linux
"""

    # For modules that only observe.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not modify state.
  diff_mode:
    support: N/A
    details:
      - This module does not modify state.
  idempotent:
    support: full
    details:
      - This module does not modify state.
"""
