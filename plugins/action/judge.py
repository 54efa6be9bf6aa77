# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin that judges the evidence of a run on the controller; see the module of its name."""

from __future__ import annotations

import os
import typing as t
from collections import Counter

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _judging
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_LEVEL,
    EXIT_NOT_LEVEL,
    VERDICTS,
    Finding,
    exit_code,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    RUNNING,
    JournalError,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import PolicyError

_WORDS = {EXIT_LEVEL: "level", EXIT_NOT_LEVEL: "not level"}
# A message with a thousand findings is read by nobody; the result has them all.
_TOLD = 20


class ActionModule(ActionBase):
    """Reads the journal that the callback writes; the callback stores what is found."""

    _requires_connection = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """Judge, and fail where the nodes are not level."""
        super().run(tmp, task_vars)
        _validated, arguments = self.validate_argument_spec(
            {
                "nodes": {"type": "list", "elements": "str", "required": True},
                "journal": {"type": "path"},
                "run": {"type": "str"},
                "policy": {"type": "dict", "default": {}},
                "fail": {"type": "bool", "default": True},
            }
        )
        variables = task_vars or {}
        try:
            run, evidence = _evidence(_place(arguments["journal"], variables), arguments["run"])
            policy = _judging.policy_of(arguments["policy"])
        except (JournalError, PolicyError) as error:
            raise AnsibleActionFail(str(error)) from error
        nodes = arguments["nodes"]
        hostvars = {name: _own(variables.get("hostvars", {}), name) for name in nodes}
        findings = _judging.judged(evidence, {}, hostvars, nodes, policy)
        return _result(run, findings, arguments["fail"])


def _place(given: str | None, variables: dict[str, t.Any]) -> str:
    place = given or os.environ.get("TRACKBED_JOURNAL") or variables.get("trackbed_journal")
    if not place:
        raise JournalError(
            "no journal is named",
            wanted="the journal that the callback trackbed.cluster.journal writes",
            remedy="set TRACKBED_JOURNAL, or the variable trackbed_journal",
        )
    return str(place)


def _evidence(place: str, asked: str | None) -> tuple[str, dict[str, list[dict[str, t.Any]]]]:
    """Return the run and its documents by node. Raises JournalError."""
    with Journal.open(place, read_only=True) as journal:
        runs = journal.runs()
        wanted = [one for one in runs if (one.id == asked if asked else one.state == RUNNING)]
        if not wanted:
            raise JournalError(
                f"{place} knows no run {asked}" if asked else f"{place} records no run just now",
                wanted="the callback trackbed.cluster.journal at work, or the id of a run",
                remedy="set ANSIBLE_CALLBACKS_ENABLED=trackbed.cluster.journal",
            )
        found: dict[str, list[dict[str, t.Any]]] = {}
        for one in journal.evidence(wanted[0].id):
            found.setdefault(one.node, []).append(one.document)
        return wanted[0].id, found


def _own(hostvars: t.Any, name: str) -> dict[str, t.Any]:
    """Return the variables of one node that the judge looks at."""
    sku = hostvars[name].get("trackbed_sku") if name in hostvars else None
    return {"trackbed_sku": sku} if sku else {}


def _result(run: str, findings: list[Finding], may_fail: bool) -> dict[str, t.Any]:
    code = exit_code(findings)
    counts = Counter(one.verdict for one in findings)
    # A node that gave nothing says the same for every check.
    told = list(
        dict.fromkeys(one.says for one in findings if one.verdict in ("fail", "warn", "unknown"))
    )
    rest = [f"and {len(told) - _TOLD} more"] if len(told) > _TOLD else []
    word = _WORDS.get(code, "unknown")
    return {
        "changed": False,
        "failed": may_fail and code != EXIT_LEVEL,
        "msg": "; ".join([word, *told[:_TOLD], *rest]),
        "run": run,
        "verdict": word,
        "counts": {verdict: counts[verdict] for verdict in VERDICTS},
        "trackbed_findings": [one.as_dict() for one in findings],
    }
