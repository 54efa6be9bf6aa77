# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what is wanted with what the node has: sysctl, modules, files.

Private to trackbed.cluster.

Pure: `make_plan(settings, snapshot)` is all that check mode, the real run and the
check afterwards have in common, so that they cannot disagree. Limits are in
_kernel_tuning_limits, units in _kernel_tuning_units.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_files import (
    last_lines,
    module_name,
    parse_blacklist,
    parse_modules,
    parse_sysctl,
    render_modules,
    render_sysctl,
    same_value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_limits import (
    plan_limits,
    plan_service_limits,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    FILE_MODE,
    LOAD_MODULE,
    MODULES_FILE,
    REMOVE_FILE,
    SET_SYSCTL,
    SYSCTL_FILE,
    WRITE_FILE,
    Plan,
    Settings,
    Snapshot,
    now_and_at_boot,
    sysctl_name,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_units import (
    plan_thp,
    plan_units,
)


def make_plan(settings: Settings, snapshot: Snapshot) -> Plan:
    """Return everything that has to change, and every reason not to begin."""
    plan = Plan()
    for part in (plan_modules, plan_sysctl, plan_limits, plan_service_limits, plan_thp):
        before = len(plan.changes)
        for path, text in part(plan, settings, snapshot).items():
            _plan_file(plan, path, text, snapshot, len(plan.changes) > before)
    plan_units(plan, settings.units, snapshot)
    if settings.conflicts == "fail":
        plan.problems.extend(plan.conflicts)
    else:
        plan.warnings.extend(plan.conflicts)
    return plan


def plan_sysctl(plan: Plan, settings: Settings, snapshot: Snapshot) -> dict[str, str]:
    """Plan live values; return our file."""
    if settings.sysctl is None:
        return {}
    boot = {line.key: line.value or "" for line in parse_sysctl(snapshot.text_of(SYSCTL_FILE))}
    kept: dict[str, str] = {}
    for path, value in sorted(settings.sysctl.items()):
        if _sysctl_possible(plan, path, settings, snapshot):
            kept[path] = value
    for path in sorted({*boot, *kept}):
        live, wanted = snapshot.sysctl.get(path), kept.get(path)
        holds = live is not None and wanted is not None and same_value(live, wanted)
        if wanted is not None and not holds:
            plan.step(SET_SYSCTL, path, wanted)
        if not (holds and boot.get(path) == wanted):
            plan.change(
                "sysctl " + sysctl_name(path),
                now_and_at_boot(live, boot.get(path)),
                wanted if wanted is not None else now_and_at_boot(live, None),
            )
    _sysctl_conflicts(plan, kept, snapshot)
    return {SYSCTL_FILE: render_sysctl(kept)}


def _sysctl_possible(plan: Plan, path: str, settings: Settings, snapshot: Snapshot) -> bool:
    name = sysctl_name(path)
    if path in snapshot.unreadable:
        plan.problems.append(
            f"sysctl {name} cannot be read ({snapshot.unreadable[path]}), so it could not be "
            "verified; take it out of the list"
        )
        return False
    if path in snapshot.sysctl:
        return True
    if path in settings.ignore_missing:
        plan.skipped.append(name)
        return False
    # A module of this very run may bring a directory of keys (br_netfilter: net.bridge); if it
    # does not, the step fails by name.
    if path not in snapshot.misnamed and any(step.kind == LOAD_MODULE for step in plan.steps):
        return True
    plan.problems.append(
        f"sysctl {name} does not exist on this kernel (no /proc/sys/{path}); correct the name, "
        "load the module that "
        "brings it, or list it as one that may be missing"
    )
    return False


def _sysctl_conflicts(plan: Plan, kept: dict[str, str], snapshot: Snapshot) -> None:
    for path, (file, line) in sorted(
        last_lines(snapshot.others.get("sysctl", []), parse_sysctl).items()
    ):
        if path in kept and (line.value is None or not same_value(line.value, kept[path])):
            does = "takes {0} out" if line.value is None else "sets {0} to {1}"
            plan.conflicts.append(
                f"{file}:{line.number} {does.format(sysctl_name(path), line.value)} and is read "
                f"after {SYSCTL_FILE}: the next boot would not give {kept[path]}; remove that "
                "line"
            )


def plan_modules(plan: Plan, settings: Settings, snapshot: Snapshot) -> dict[str, str]:
    """Plan what to load; return our file. Nothing is ever unloaded: somebody may use it."""
    if settings.modules is None:
        return {}
    boot = {module_name(one): one for one in parse_modules(snapshot.text_of(MODULES_FILE))}
    names = {module_name(one): one for one in settings.modules}
    for key in sorted({*boot, *names}):
        loaded = key in snapshot.loaded
        if key in names and names[key] in snapshot.unavailable:
            plan.problems.append(
                f"module {names[key]} cannot be loaded: {snapshot.unavailable[names[key]]}; "
                "correct the name, or install the package that brings it"
            )
        elif key in names and not loaded:
            plan.step(LOAD_MODULE, names[key])
        if not (key in names and loaded and key in boot):
            plan.change(
                "module " + names.get(key, boot.get(key, key)),
                _module_state(loaded, key in boot),
                _module_state(loaded or key in names, key in names),
            )
    blacklisted = last_lines(snapshot.others.get("modprobe", []), parse_blacklist)
    for key in sorted(names):
        if key in blacklisted:
            file, line = blacklisted[key]
            plan.conflicts.append(
                f"{file}:{line.number} blacklists {names[key]}: systemd-modules-load would pass "
                "it over at boot; remove that line"
            )
    return {MODULES_FILE: render_modules(settings.modules)}


def _module_state(loaded: bool, at_boot: bool) -> str:
    return "{}, {}".format(
        "loaded" if loaded else "not loaded", "at boot" if at_boot else "not at boot"
    )


def _plan_file(plan: Plan, path: str, text: str, snapshot: Snapshot, explained: bool) -> None:
    """Plan one of our files. `explained`: the changes of its settings stand for it already."""
    found = snapshot.own.get(path)
    if not text:
        if found is not None:
            plan.step(REMOVE_FILE, path)
            if not explained:
                plan.change("file " + path, "without settings", "removed")
        return
    if found is not None and found.text == text and found.mode == FILE_MODE:
        return
    plan.step(WRITE_FILE, path, text)
    if found is not None and found.mode != FILE_MODE:
        plan.change("file " + path, f"mode 0{found.mode:o}", f"mode 0{FILE_MODE:o}")
    elif found is not None and not explained:
        plan.change("file " + path, "edited by hand", "as Trackbed writes it")
