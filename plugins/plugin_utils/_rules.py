# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions that checks are made of, by name. Private to trackbed.cluster."""

from __future__ import annotations

import dataclasses

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _rules_gpu, _rules_peers
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Rule


@dataclasses.dataclass(frozen=True)
class Known:
    """One rule and the parameters that it wants, all of them text."""

    judge: Rule
    params: tuple[str, ...] = ()


RULES = {
    "gpu_count": Known(_rules_gpu.gpu_count),
    "gpu_pcie_link": Known(_rules_gpu.gpu_pcie_link),
    "peers_equal": Known(_rules_peers.peers_equal, ("value", "noun")),
}
