# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions that checks are made of, by name. Private to trackbed.cluster."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils import (
    _rules_events,
    _rules_gpu,
    _rules_peers,
    _rules_values,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Rule


@dataclasses.dataclass(frozen=True)
class Known:
    """One rule and the parameters that it wants: texts, but for those of `own`."""

    judge: Rule
    params: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """Parameters of other types, which `wrong` looks at."""
    optional: tuple[str, ...] = ()
    """Those of `own` that may be left out."""
    wrong: Callable[[Mapping[str, t.Any]], str | None] | None = None
    """Says what is wrong with the parameters: a rule that could never fail, for one."""


RULES = {
    "events": Known(_rules_events.events, ("about", "noun"), wrong=_rules_events.wrong),
    "gpu_count": Known(_rules_gpu.gpu_count, ("place",)),
    "gpu_pcie_link": Known(_rules_gpu.gpu_pcie_link),
    "peers_equal": Known(
        _rules_peers.peers_equal, ("value", "noun"), own=("entity",), optional=("entity",)
    ),
    "value_is": Known(
        _rules_values.value_is,
        ("value", "noun", "compare"),
        own=("entity", "want", "may_lack"),
        optional=("may_lack",),
        wrong=_rules_values.wrong,
    ),
}
