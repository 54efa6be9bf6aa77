# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the limits of logins and of services for kernel_tuning. Private to trackbed.cluster.

Pure. Logins and services are two worlds: pam_limits never sees slurmd or
containerd, and systemd's defaults never reach an ssh session. And pam_limits is
dangerous: where the kernel refuses one value it refuses the whole login, root's
too. So a value that this node cannot grant is found before anything is written.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_files import (
    last_lines,
    parse_limits,
    parse_service_limits,
    render_limits,
    render_service_limits,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    LIMIT_ITEMS,
    LIMITS_FILE,
    RELOAD,
    SYSTEM_FILE,
    Limit,
    Plan,
    Settings,
    Snapshot,
    now_and_at_boot,
    shown,
)


def plan_limits(plan: Plan, settings: Settings, snapshot: Snapshot) -> dict[str, str]:
    """Plan what logins get; return our file."""
    if settings.limits is None:
        return {}
    limits = {
        item: _grantable(plan, item, settings.limits[item], settings, snapshot)
        for item in sorted(settings.limits)
    }
    text = render_limits(limits, settings.limits_domains)
    before = {line.key: line.value for line in parse_limits(snapshot.text_of(LIMITS_FILE))}
    after = {line.key: line.value for line in parse_limits(text)}
    for domain, item in sorted({(domain, item) for domain, _kind, item in {**before, **after}}):
        was, will = _pair(before, domain, item), _pair(after, domain, item)
        if was != will:
            plan.change(f"login limit {item} of {domain}", was, will)
    for key, (file, line) in sorted(
        last_lines(snapshot.others.get("limits", []), parse_limits).items()
    ):
        if key in after and line.value != after[key]:
            plan.conflicts.append(
                f"{file}:{line.number} sets {' '.join([*key, line.value or ''])} and is read after "
                f"{LIMITS_FILE}: logins would not get {after[key]}; remove that line"
            )
    return {LIMITS_FILE: text}


def _pair(lines: dict[tuple[str, str, str], str | None], domain: str, item: str) -> str:
    soft, hard = (lines.get((domain, kind, item)) or "not set" for kind in ("soft", "hard"))
    return soft if soft == hard else f"{soft}:{hard}"


def _grantable(
    plan: Plan, item: str, limit: Limit, settings: Settings, snapshot: Snapshot
) -> Limit:
    """Return the limit, or the largest that this node can grant where the user allows that."""
    if item == "nofile":
        _check_nr_open(plan, limit, settings, snapshot)
    ceiling = snapshot.ceilings.get(item)
    if ceiling is None or (limit.hard is not None and limit.hard <= ceiling):
        return limit
    says = (
        f"login limit {item}: {limit} is wanted, but this node can grant at most {ceiling}, "
        "since its root lacks CAP_SYS_RESOURCE"
    )
    if settings.limits_ungrantable == "lower":
        plan.warnings.append(f"{says}; {ceiling} is set instead")
        return Limit(ceiling if limit.soft is None else min(limit.soft, ceiling), ceiling)
    plan.problems.append(
        f"{says}; with the wanted value every login would be refused. Give the node (a "
        "container?) a higher limit, "
        "lower the value, or set limits_ungrantable to 'lower'"
    )
    return limit


def _check_nr_open(plan: Plan, limit: Limit, settings: Settings, snapshot: Snapshot) -> None:
    """Refuse a nofile above fs.nr_open: the kernel refuses it even to root.

    And so PAM every login.
    """
    wanted = (settings.sysctl or {}).get("fs/nr_open", "")
    most = int(wanted) if wanted.isdigit() else snapshot.nr_open
    if most is not None and limit.hard is not None and limit.hard > most:
        plan.problems.append(
            f"login limit nofile: {limit} is wanted, but fs.nr_open is {most}, and a larger "
            "value makes every login fail; "
            f"lower it, or set sysctl fs.nr_open to at least {shown(limit.hard)}"
        )


def plan_service_limits(plan: Plan, settings: Settings, snapshot: Snapshot) -> dict[str, str]:
    """Plan the limits that systemd gives to services; return our drop-in."""
    if settings.service_limits is None:
        return {}
    wanted = {item: str(limit) for item, limit in settings.service_limits.items()}
    text = render_service_limits(settings.service_limits)
    boot = {line.key: line.value for line in parse_service_limits(snapshot.text_of(SYSTEM_FILE))}
    for item in sorted({*boot, *wanted}):
        live = str(snapshot.service_limits[item]) if item in snapshot.service_limits else None
        if item not in wanted:
            plan.change("service limit " + item, now_and_at_boot(live, boot[item]), "systemd's own")
        elif not live == boot.get(item) == wanted[item]:
            plan.change(
                "service limit " + item, now_and_at_boot(live, boot.get(item)), wanted[item]
            )
            plan.step(RELOAD)
    if text != snapshot.text_of(SYSTEM_FILE):
        plan.step(RELOAD)
    for item, (file, line) in sorted(
        last_lines(snapshot.others.get("system", []), parse_service_limits).items()
    ):
        if item in wanted and line.value != wanted[item]:
            # Not a matter of the next boot: systemd would take the other value at once.
            plan.problems.append(
                f"{file}:{line.number} sets DefaultLimit{item.upper()} to {line.value} and is "
                f"read after {SYSTEM_FILE}; remove that line, "
                "or set the same value here"
            )
    return {SYSTEM_FILE: text}


_CAP_SYS_RESOURCE = 24  # linux/capability.h
# The names in /proc/PID/limits (fs/proc/base.c).
_PROC_LIMITS = {
    "Max address space": "as",
    "Max core file size": "core",
    "Max data size": "data",
    "Max file size": "fsize",
    "Max locked memory": "memlock",
    "Max msgqueue size": "msgqueue",
    "Max open files": "nofile",
    "Max pending signals": "sigpending",
    "Max processes": "nproc",
    "Max stack size": "stack",
}


def login_ceilings(status: str, uid_map: str, limits: str) -> dict[str, int]:
    """Return the hard limits that no login can exceed, in the units of limits.conf(5).

    From the files of these names in /proc/1. With CAP_SYS_RESOURCE there are none
    (nofile's fs.nr_open aside). In a user namespace the capability counts for
    nothing: the kernel asks for it in the first one (kernel/sys.c, do_prlimit).
    """
    bounding = [line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:")]
    first_namespace = uid_map.split() in ([], ["0", "0", "4294967295"])
    if bounding and int(bounding[0], 16) >> _CAP_SYS_RESOURCE & 1 and first_namespace:
        return {}
    found = {}
    for line in limits.splitlines():
        for label, item in _PROC_LIMITS.items():
            if line.startswith(label + " "):
                hard = line[len(label) :].split()[1]
                if hard != "unlimited":
                    found[item] = int(hard) // LIMIT_ITEMS[item]
    return found
