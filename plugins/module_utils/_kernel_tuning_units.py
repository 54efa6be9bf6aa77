# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan systemd units and transparent huge pages for kernel_tuning. Private to trackbed.cluster.

Pure. What a unit will look like is foretold from what it is now, by the rules of
systemctl(1), so that check mode and the real run give the same diff.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_files import (
    parse_thp_unit,
    render_thp_unit,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    MODES,
    RELOAD,
    RETIRE_UNIT,
    SYSTEMCTL,
    THP_FILE,
    THP_UNIT,
    Plan,
    Settings,
    Snapshot,
    Unit,
    UnitWish,
    now_and_at_boot,
)

_ENABLED = ("enabled", "alias")
_MASKED = ("masked", "masked-runtime")
# No [Install] section to follow, or made by a generator: `systemctl enable` does nothing.
_NOT_TO_ENABLE = ("static", "generated", "transient", "indirect")


# What `systemctl show` is asked for.
UNIT_PROPERTIES = (
    "LoadState,ActiveState,UnitFileState,Type,RemainAfterExit,NeedDaemonReload,"
    "ConditionResult,ConditionTimestampMonotonic"
)


def unit_from(block: str) -> Unit:
    """Return what one block of `systemctl show` says of a unit."""
    values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    return Unit(
        load=values.get("LoadState", ""),
        active=values.get("ActiveState", ""),
        file=values.get("UnitFileState", ""),
        kind=values.get("Type", ""),
        remains=values.get("RemainAfterExit") == "yes",
        needs_reload=values.get("NeedDaemonReload") == "yes",
        # Asked only when it is started; never asked, it is "no" as well.
        refused=values.get("ConditionResult") == "no"
        and values.get("ConditionTimestampMonotonic", "0") != "0",
    )


def plan_units(plan: Plan, wishes: tuple[UnitWish, ...], snapshot: Snapshot) -> None:
    """Plan the state of each unit."""
    for wish in wishes:
        unit = snapshot.units.get(wish.name, Unit(load="not-found"))
        problem = _impossible(wish, unit)
        if problem:
            plan.problems.append(f"unit {wish.name}: {problem}")
            continue
        verbs, after = _PLANNERS[wish.state](unit)
        for verb in verbs:
            plan.step(SYSTEMCTL, wish.name, verb)
        if verbs:
            plan.change("unit " + wish.name, str(unit), after)


def _impossible(wish: UnitWish, unit: Unit) -> str | None:
    if wish.state != "enabled" or unit.file in _MASKED:
        return None
    if unit.load == "not-found":
        return (
            "it shall be enabled, but there is no such unit; install what brings it, or take it "
            "out of the list"
        )
    if unit.load != "loaded":
        return (
            f"it shall be enabled, but systemd says {unit.load} of its file; look at `systemctl "
            "status` on the node"
        )
    if unit.file in _NOT_TO_ENABLE:
        return (
            f"it shall be enabled, but it is {unit.file}: it has no [Install] section and is "
            "started by others; "
            "enable the unit that starts it"
        )
    return None


def _enabled(unit: Unit) -> tuple[list[str], str]:
    verbs = []
    if unit.file in _MASKED:
        verbs.append("unmask")
    if unit.file not in _ENABLED:
        verbs.append("enable")
    # A oneshot that does not remain has its own trigger; starting it at every run would never
    # settle.
    if not unit.started and not unit.runs_once:
        verbs.append("start")
    return verbs, "enabled" if unit.runs_once else "enabled, active"


def _disabled(unit: Unit) -> tuple[list[str], str]:
    verbs = []
    file = unit.file or "no unit file"
    if unit.file in ("enabled", "enabled-runtime"):
        verbs.append("disable")
        file = "disabled"
    if unit.started:
        verbs.append("stop")
    return verbs, file if unit.runs_once else f"{file}, inactive"


def _masked(unit: Unit) -> tuple[list[str], str]:
    verbs = ["stop"] if unit.started else []
    if unit.file != "masked":
        verbs.append("mask")
    return verbs, "masked, inactive"


def _unmasked(unit: Unit) -> tuple[list[str], str]:
    return (["unmask"] if unit.file in _MASKED else []), "not masked"


_PLANNERS = {"enabled": _enabled, "disabled": _disabled, "masked": _masked, "unmasked": _unmasked}


def plan_thp(plan: Plan, settings: Settings, snapshot: Snapshot) -> dict[str, str]:
    """Plan transparent huge pages; return the unit that sets them at boot."""
    wanted = settings.transparent_hugepage
    if wanted is None:
        return {}
    unit = snapshot.units.get(THP_UNIT, Unit(load="not-found"))
    live = snapshot.transparent_hugepage
    ours = snapshot.text_of(THP_FILE)
    boot = parse_thp_unit(ours) if unit.file in _ENABLED else None
    if wanted not in MODES:
        return _retire_thp(plan, now_and_at_boot(live, boot), live, snapshot)
    if live is None:
        plan.problems.append(
            f"transparent_hugepage shall be {wanted}, but this kernel is built without it; "
            "set it to 'unmanaged'"
        )
        return {}
    text = render_thp_unit(wanted)
    if ours != text or unit.needs_reload or unit.load == "not-found":
        plan.step(RELOAD)
    if unit.file not in _ENABLED:
        plan.step(SYSTEMCTL, THP_UNIT, "enable")
    # The unit itself sets the live value, which proves that it will do so at boot.
    if live != wanted or unit.active != "active" or ours != text:
        plan.step(SYSTEMCTL, THP_UNIT, "restart")
    if not live == boot == wanted:
        plan.change("transparent_hugepage", now_and_at_boot(live, boot), wanted)
    elif unit.active != "active":
        plan.change("unit " + THP_UNIT, str(unit), "enabled, active")
    return {THP_FILE: text}


def _retire_thp(plan: Plan, before: str, live: str | None, snapshot: Snapshot) -> dict[str, str]:
    if THP_FILE in snapshot.own:
        plan.step(RETIRE_UNIT, THP_UNIT, "disable --now")
        plan.step(RELOAD)
        plan.change("transparent_hugepage", before, now_and_at_boot(live, None))
    return {THP_FILE: ""}
