"""Plant and clear faults in a node's state. Pure: the caller saves the state and the tree."""

from __future__ import annotations

from dataclasses import replace

from trackbed.errors import UsageError
from trackbed.lab.hardware.effects import FAULTS
from trackbed.lab.hardware.fault import Fault, fault_named
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import healthy_plan, plan_of
from trackbed.lab.state import WHOLE_NODE, FaultMark, NodeState

__all__ = ["FAULTS", "Fault", "apply", "clear", "parse_target"]


def parse_target(text: str) -> tuple[str, str]:
    """Split "gpu-002/gpu:5" into node and device; a node alone means the whole node."""
    node, _, device = text.partition("/")
    if not node or (not device and "/" in text):
        raise UsageError(
            f"the target is {text!r}", wanted="NODE or NODE/gpu:INDEX, as in gpu-002/gpu:5"
        )
    return node, device or WHOLE_NODE


def _checked(state: NodeState, target: str, kind: str) -> Fault:
    """Return the fault; raises UsageError where the node has no such target, or no such kind."""
    fault = fault_named(kind, FAULTS)
    if fault.target == WHOLE_NODE:
        choices = [WHOLE_NODE]
    else:
        names = healthy_plan(state).names()
        choices = [name for name in names if name.startswith(f"{fault.target}:")]
    if target not in choices:
        raise UsageError(
            f"{kind} cannot be planted on {target!r} of {state.name}",
            wanted=f"one of {', '.join(choices)}",
            remedy="a fault of the whole node takes the node's name alone"
            if fault.target == WHOLE_NODE
            else f"name it as {state.name}/{choices[0]}",
        )
    return fault


def apply(state: NodeState, target: str, kind: str, at: float | None = None) -> NodeState:
    """Return the state with one more fault; a fault that is there already changes nothing.

    `at` is when it broke, in seconds since 1970; the kernel's log tells of it at that time.

    Raises UsageError for what does not exist or cannot be (Gen4 on a GPU that is Gen4 by design,
    a slow link on a GPU that is gone).
    """
    _checked(state, target, kind)
    mark = FaultMark(kind, target, at)
    if mark in state.faults:
        return state
    after = replace(state, faults=(*state.faults, mark))
    machine_of(plan_of(after), after)  # refuses what cannot be
    return after


def clear(state: NodeState, target: str, kind: str | None = None) -> NodeState:
    """Return the state without this fault, or without any fault of the target.

    The target `node` without a kind clears all faults of the node. Clearing what is not there
    changes nothing; an unknown kind or target is refused.
    """
    if kind is not None:
        _checked(state, target, kind)
    elif target != WHOLE_NODE and target not in healthy_plan(state).names():
        raise UsageError(
            f"{state.name} has no {target!r}",
            wanted=f"{WHOLE_NODE}, or one of {', '.join(healthy_plan(state).names())}",
        )

    def goes(mark: FaultMark) -> bool:
        if kind is not None:
            return mark == FaultMark(kind, target)
        return target in (WHOLE_NODE, mark.target)

    return replace(state, faults=tuple(mark for mark in state.faults if not goes(mark)))
