# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a node from what it has to what is wanted, and look whether it got there.

Private to trackbed.cluster.
"""

from __future__ import annotations

import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    Plan,
    Settings,
    Snapshot,
    Step,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_node import StepError
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_plan import make_plan


class NodeLike(t.Protocol):
    """What is needed of a node."""

    def snapshot(self, settings: Settings) -> Snapshot:
        """Read it."""

    def take(self, step: Step) -> None:
        """Do one step."""


class ApplyError(Exception):
    """It could not be begun, or not be finished; `applied` says how far it came."""

    def __init__(self, says: str, applied: list[str], problems: list[str]) -> None:
        super().__init__(says)
        self.applied = applied
        self.problems = problems


def apply(node: NodeLike, settings: Settings, check: bool) -> tuple[Plan, list[str]]:
    """Make the node as wanted; return the plan and the steps that were taken.

    In check mode nothing is done. Raises ApplyError, and StepError where the
    node could not even be read.
    """
    plan = make_plan(settings, node.snapshot(settings))
    if plan.problems:
        raise ApplyError("Nothing was changed. " + "; ".join(plan.problems), [], plan.problems)
    applied: list[str] = []
    if check:
        return plan, applied
    for step in plan.in_order():
        try:
            node.take(step)
        except StepError as error:
            raise ApplyError(_half_way(step, error, applied), applied, [str(error)]) from error
        applied.append(str(step))
    if applied:
        _verify(node, settings, applied)
    return plan, applied


def _verify(node: NodeLike, settings: Settings, applied: list[str]) -> None:
    """Plan again: what is still to be changed did not take effect."""
    try:
        after = make_plan(settings, node.snapshot(settings))
    except StepError as error:
        says = f"Every step was taken, but the node could not be read again: {error}"
        raise ApplyError(says, applied, [str(error)]) from error
    left = [f"{one.item} is {one.before}, not {one.after}" for one in after.changes]
    left += after.problems
    if left:
        says = "Every step was taken, but not all took effect: " + "; ".join(left)
        raise ApplyError(says, applied, left)


def _half_way(step: Step, error: StepError, applied: list[str]) -> str:
    done = "; ".join(applied) if applied else "nothing"
    return f"Could not {step}: {error}. Done before that: {done}. Mend it and run again to go on."
