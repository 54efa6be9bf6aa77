# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn the options of kernel_tuning into Settings, or say everything that is wrong with them.

Private to trackbed.cluster.

Pure. All mistakes are named at once, each with what was found and what is wanted,
so that nothing is written for a wish that cannot be met.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_files import (
    module_name,
    sysctl_path,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    LIMIT_ITEMS,
    THP_UNIT,
    Limit,
    Settings,
    UnitWish,
    sysctl_name,
)

ABSENT = "absent"

_SYSCTL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.:@-]*)+\Z")
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\Z")
_UNIT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@\\-]*\Z")
# limits.conf(5): user, @group, %group, *, or a range of uids or gids.
_DOMAIN = re.compile(r"(?:\*|[@%]?[A-Za-z0-9_][A-Za-z0-9_.:-]*)\Z")
_UNIT_TYPES = (
    "automount", "mount", "path", "scope", "service", "slice", "socket", "swap", "target", "timer",
)  # fmt: skip
# These do something when they are written; they hold no value to compare with.
_ORDERS = {
    "vm/drop_caches", "vm/compact_memory", "net/ipv4/route/flush", "net/ipv6/route/flush",
    "vm/stat_refresh",
}  # fmt: skip


class InputError(Exception):
    """The options cannot be met; `problems` holds a sentence for each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def settings_from(options: dict[str, t.Any]) -> Settings:
    """Return the settings that these module options ask for.

    Raises InputError with every mistake in them.
    """
    problems: list[str] = []
    settings = Settings(
        sysctl=_sysctl(options.get("sysctl"), problems),
        ignore_missing=frozenset(
            sysctl_path(str(one)) for one in options.get("sysctl_ignore_missing") or []
        ),
        limits=_limits("limits", options.get("limits"), problems),
        limits_domains=_domains(options.get("limits_domains"), problems),
        limits_ungrantable=options.get("limits_ungrantable") or "fail",
        service_limits=_limits("service_limits", options.get("service_limits"), problems),
        modules=_modules(options.get("modules"), problems),
        units=_units(options.get("units") or [], problems),
        transparent_hugepage=options.get("transparent_hugepage"),
        conflicts=options.get("conflicts") or "warn",
    )
    if problems:
        raise InputError(problems)
    return settings


def _sysctl(found: dict[str, t.Any] | None, problems: list[str]) -> dict[str, str] | None:
    if found is None:
        return None
    values: dict[str, str] = {}
    for name in sorted(found, key=str):
        path = sysctl_path(str(name))
        if not _SYSCTL.match(path):
            problems.append(
                f"sysctl: {name!r} is no key; wanted is one key as in vm.max_map_count, without "
                "wildcards"
            )
        elif path in _ORDERS:
            problems.append(f"sysctl: {name} is an order to the kernel, not a setting; take it out")
        elif path in values:
            problems.append(
                f"sysctl: {sysctl_name(path)} is given twice, in two spellings; keep one"
            )
        else:
            value = _sysctl_value(name, found[name], problems)
            if value is not None:
                values[path] = value
    return values


def _sysctl_value(name: str, value: t.Any, problems: list[str]) -> str | None:
    text = " ".join(str(value).split()) if isinstance(value, (str, int)) else ""
    if isinstance(value, bool) or not text or "\n" in str(value).strip():
        problems.append(
            f"sysctl: {name} has the value {value!r}; wanted is a number or one line of text, "
            f"or {ABSENT!r} to take the key out"
        )
        return None
    return None if text == ABSENT else text


def _limits(
    option: str, found: dict[str, t.Any] | None, problems: list[str]
) -> dict[str, Limit] | None:
    if found is None:
        return None
    limits = {}
    for item in sorted(found, key=str):
        if item not in LIMIT_ITEMS:
            problems.append(
                "{}: {!r} is not a limit that can be set; wanted is one of {}".format(
                    option, item, ", ".join(sorted(LIMIT_ITEMS))
                )
            )
        elif found[item] != ABSENT:
            limit = _limit(option, item, found[item], problems)
            if limit is not None:
                limits[item] = limit
    return limits


def _limit(option: str, item: str, value: t.Any, problems: list[str]) -> Limit | None:
    soft, _colon, hard = str(value).partition(":")
    parts = [_number(one) for one in (soft, hard or soft)]
    if isinstance(value, bool) or False in [one is None or one >= 0 for one in parts]:
        problems.append(
            f"{option}: {item} is {value!r}; wanted is a number, 'unlimited', 'SOFT:HARD' or "
            f"{ABSENT!r}"
        )
        return None
    limit = Limit(*parts)
    if item == "nofile" and None in parts:
        problems.append(
            f"{option}: nofile cannot be unlimited: Linux allows at most fs.nr_open; give a number"
        )
    elif limit.hard is not None and (limit.soft is None or limit.soft > limit.hard):
        problems.append(f"{option}: {item} has a soft limit above its hard limit: {value}")
    else:
        return limit
    return None


def _number(text: str) -> int | None:
    """Return the number, None for unlimited, -1 for anything else."""
    if text in ("unlimited", "infinity"):
        return None
    return int(text) if text.isdigit() else -1


def _domains(found: list[str] | None, problems: list[str]) -> tuple[str, ...]:
    domains = tuple(dict.fromkeys(found or ("*", "root")))
    for one in domains:
        if not _DOMAIN.match(one):
            problems.append(
                f"limits_domains: {one!r} is no domain; wanted is a user, @group or * "
                "(limits.conf(5))"
            )
    return domains


def _modules(found: list[str] | None, problems: list[str]) -> tuple[str, ...] | None:
    if found is None:
        return None
    chosen: dict[str, str] = {}
    for one in found:
        if _MODULE.match(one):
            chosen.setdefault(module_name(one), one)
        else:
            problems.append(f"modules: {one!r} is no name of a kernel module, such as ib_umad")
    return tuple(sorted(chosen.values()))


def _units(found: list[dict[str, t.Any]], problems: list[str]) -> tuple[UnitWish, ...]:
    chosen: dict[str, str] = {}
    for one in found:
        name, state = str(one["name"]), one["state"]
        if name.rpartition(".")[2] not in _UNIT_TYPES:
            name += ".service"
        if not _UNIT.match(name) or "@." in name:
            problems.append(
                "units: {!r} is no name of one unit, such as sleep.target".format(one["name"])
            )
        elif name == THP_UNIT:
            problems.append(f"units: {name} is set through transparent_hugepage; take it out")
        elif chosen.setdefault(name, state) != state:
            problems.append(f"units: {name} shall be both {chosen[name]} and {state}; keep one")
    return tuple(UnitWish(name, chosen[name]) for name in sorted(chosen))
