# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a run's evidence and an inventory's variables to findings. Private to trackbed.cluster.

The one way to the judge for the command line and for the action plugin, so that
both always say the same.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _book
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Check, Evidence
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._judge import judge
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import (
    EMPTY,
    Policy,
    PolicyError,
    parse_policy,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._rules import RULES
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

POLICY_VARIABLE = "trackbed_policy"


def judged(
    current: Evidence,
    history: Evidence,
    hostvars: Mapping[str, Mapping[str, t.Any]],
    names: Iterable[str],
    policy: Policy = EMPTY,
) -> list[Finding]:
    """Judge these nodes, every one of them, whether there is evidence of it or not."""
    return judge(current, history, Topology.from_hostvars(hostvars, names), _book.load(), policy)


def policy_of(raw: t.Any) -> Policy:
    """Return the policy of a mapping check -> settings. Raises PolicyError."""
    checks = {check.id: check for check in _book.load().checks}
    policy = parse_policy(raw, checks)
    for name, setting in policy.items():
        if setting.want is not None:
            _check_want(checks[name], setting.want)
    return policy


def _check_want(check: Check, want: t.Any) -> None:
    """Refuse a threshold that the check does not have, or with which it could never fail."""
    rule = RULES[check.rule]
    if "want" not in rule.own or rule.wrong is None:
        raise PolicyError(f"policy of {check.id}: want: this check has no threshold")
    trouble = rule.wrong({**check.params, "want": want})
    if trouble:
        raise PolicyError(f"policy of {check.id}: {trouble}")
    own = check.params["want"]
    if not isinstance(own, (dict, list)) and type(want) is not type(own):
        raise PolicyError(f"policy of {check.id}: want: {want!r} is of another type than {own!r}")


def common_policy(hostvars: Mapping[str, Mapping[str, t.Any]]) -> Policy:
    """Return the policy that all nodes share. Raises PolicyError where they differ or it is wrong.

    The judge compares nodes with each other, so one judgement has one policy.
    """
    found = [one[POLICY_VARIABLE] for one in hostvars.values() if one.get(POLICY_VARIABLE)]
    if any(one != found[0] for one in found):
        raise PolicyError(f"the nodes have different values of {POLICY_VARIABLE}")
    return policy_of(found[0] if found else None)
