# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write and read the files that kernel_tuning keeps, and those that may override them.

Private to trackbed.cluster.

Pure: text in, text or lines out. Formats: sysctl.d(5), limits.conf(5),
systemd-system.conf(5), modules-load.d(5), modprobe.d(5). No file holds a time
stamp, and all are sorted, so that equal wishes give equal bytes.
"""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    LIMIT_ITEMS,
    Limit,
    shown,
    sysctl_name,
)

HEADER = "# Managed by Trackbed (trackbed.cluster.kernel_tuning): changes made here are lost.\n"

THP_KNOB = "/sys/kernel/mm/transparent_hugepage/enabled"
# After local file systems and before basic.target: every ordinary service starts after
# it, so no job ever sees the distribution's value.
_THP_UNIT = """\
[Unit]
Description=Transparent huge pages as Trackbed sets them
DefaultDependencies=no
After=sysinit.target local-fs.target
Before=basic.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo {0} >{1}'

[Install]
WantedBy=basic.target
"""


@dataclasses.dataclass(frozen=True)
class Line:
    """One assignment in a file. `value` None: the line takes the key out (`-key` in sysctl.d)."""

    number: int
    key: t.Any
    value: str | None


def sysctl_path(name: str) -> str:
    """Return the path below /proc/sys, by the rule of sysctl.d(5).

    Where the first separator is a slash the name is a path already; else dots
    and slashes change places, so that `net.ipv4.conf.eth0/100.rp_filter` works.
    """
    first = next((char for char in name if char in "./"), "/")
    return name if first == "/" else name.translate(str.maketrans("./", "/."))


def same_value(one: str, other: str) -> bool:
    """Tell whether two sysctl values are equal; the kernel separates by tabs and prints decimal."""
    return _numbers(one) == _numbers(other)


def _numbers(value: str) -> list[t.Any]:
    found: list[t.Any] = []
    for part in value.split():
        try:
            found.append(int(part, 0))
        except ValueError:
            found.append(part)
    return found


def render_sysctl(values: dict[str, str]) -> str:
    """Return the text of our file in sysctl.d, "" where nothing is set."""
    lines = [f"{sysctl_name(path)} = {values[path]}\n" for path in sorted(values)]
    return HEADER + "".join(lines) if lines else ""


def render_limits(limits: dict[str, Limit], domains: t.Iterable[str]) -> str:
    """Return the text of our file in limits.d, "" where nothing is set."""
    lines = [
        f"{domain:<8} {kind} {item:<10} {shown(getattr(limits[item], kind))}\n"
        for domain in sorted(domains)
        for item in sorted(limits)
        for kind in ("hard", "soft")
    ]
    return HEADER + "".join(lines) if lines else ""


def render_service_limits(limits: dict[str, Limit]) -> str:
    """Return the text of our file in system.conf.d, "" where nothing is set."""
    lines = []
    for item in sorted(limits):
        soft, hard = (
            _rlimit(one, LIMIT_ITEMS[item]) for one in (limits[item].soft, limits[item].hard)
        )
        value = soft if soft == hard else f"{soft}:{hard}"
        lines.append(f"DefaultLimit{item.upper()}={value}\n")
    return HEADER + "[Manager]\n" + "".join(lines) if lines else ""


def _rlimit(value: int | None, factor: int) -> str:
    return "infinity" if value is None else str(value * factor)


def render_modules(names: t.Iterable[str]) -> str:
    """Return the text of our file in modules-load.d, "" where nothing is set."""
    lines = [name + "\n" for name in sorted(set(names))]
    return HEADER + "".join(lines) if lines else ""


def render_thp_unit(mode: str) -> str:
    """Return the unit that sets transparent huge pages at boot."""
    return HEADER + _THP_UNIT.format(mode, THP_KNOB)


def parse_thp_unit(text: str) -> str | None:
    """Return the mode that such a unit sets."""
    for line in text.splitlines():
        if line.startswith("ExecStart=") and "echo " in line:
            return line.split("echo ", 1)[1].split()[0]
    return None


def parse_sysctl(text: str) -> list[Line]:
    """Return the assignments of a sysctl.d file.

    Globs are left out: an exact name wins over them anywhere.
    """
    found = []
    for number, line in _lines(text, "#;"):
        name, separator, value = line.partition("=")
        name = name.strip()
        excluded = name.startswith("-")
        path = sysctl_path(name.lstrip("-").strip()).strip("/")
        if not path or any(char in path for char in "*?["):
            continue
        if separator:
            found.append(Line(number, path, " ".join(value.split())))
        elif excluded:
            found.append(Line(number, path, None))
    return found


def parse_limits(text: str) -> list[Line]:
    """Return the limits of a limits.conf: key (domain, hard or soft, item)."""
    found = []
    for number, line in _lines(text, "#"):
        parts = line.split("#", 1)[0].split()
        if len(parts) != 4:
            continue
        domain, kind, item, value = parts
        value = {"infinity": "unlimited", "-1": "unlimited"}.get(value, value)
        for one in ("hard", "soft") if kind == "-" else (kind,):
            found.append(Line(number, (domain, one, item), value))
    return found


def parse_service_limits(text: str) -> list[Line]:
    """Return the DefaultLimit... lines of a systemd system.conf.

    In the units of limits.conf where they fit.
    """
    found = []
    for number, line in _lines(text, "#;"):
        name, separator, value = line.partition("=")
        item = name.strip().lower()[len("defaultlimit") :]
        if separator and name.strip().startswith("DefaultLimit") and item in LIMIT_ITEMS:
            found.append(Line(number, item, _from_systemd(item, value.strip())))
    return found


def _from_systemd(item: str, value: str) -> str:
    soft, _colon, hard = value.partition(":")
    parts = [systemd_limit(item, one) for one in (soft, hard or soft)]
    if any(one is False for one in parts):
        return value
    return str(Limit(*parts))


def systemd_limit(item: str, value: str) -> t.Any:
    """Return systemd's value in the unit of limits.conf, None for infinity.

    False where it does not fit.
    """
    if value == "infinity":
        return None
    if not value.isdigit() or int(value) % LIMIT_ITEMS[item]:
        return False
    return int(value) // LIMIT_ITEMS[item]


def parse_modules(text: str) -> list[str]:
    """Return the modules of a modules-load.d file."""
    return [line for _number, line in _lines(text, "#;")]


def parse_blacklist(text: str) -> list[Line]:
    """Return the modules that a modprobe.d file blacklists, with underscores."""
    return [
        Line(number, module_name(line.split()[1]), None)
        for number, line in _lines(text, "#")
        if line.split()[0] == "blacklist" and len(line.split()) > 1
    ]


def module_name(name: str) -> str:
    """Return the name that the kernel uses: it has no dashes."""
    return name.replace("-", "_")


def _lines(text: str, comments: str) -> t.Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line and line[0] not in comments:
            yield number, line


def read_order(found: dict[str, list[str]], folders: t.Sequence[str]) -> list[str]:
    """Return paths in the order in which systemd reads drop-ins.

    `found`: folder -> names of files in it. The earlier folder hides a file of
    the same name in a later one; all are then read by name, whatever their folder.
    """
    chosen: dict[str, str] = {}
    for folder in reversed(folders):
        for name in found.get(folder, []):
            if name.endswith(".conf"):
                chosen[name] = posixpath.join(folder, name)
    return [chosen[name] for name in sorted(chosen)]


def last_lines(
    files: list[tuple[str, str]], parse: t.Callable[[str], list[Line]]
) -> dict[t.Any, tuple[str, Line]]:
    """Return for each key the assignment that counts: the last one, with its file."""
    last = {}
    for path, text in files:
        for line in parse(text):
            last[line.key] = (path, line)
    return last
