# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of what the kernel and /etc/os-release say about the operating system.

Format: several small files one after the other, each under a line
`==> PATH <==` as tail(1) prints it; a bare os-release file is read too. The
kernel release comes from /proc/sys/kernel/osrelease. Sources: os-release(5);
proc(5); the kernel's admin guide, "The kernel's command-line parameters".
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _redact
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
    Value,
    failed,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "os"
TITLE = "operating system: os-release and files of /proc, joined as by tail"
VERSIONS = "os-release of systemd 197 on; Linux 2.6 on"
SOURCES = ("os-release(5)", "proc(5)")
PROVEN = True
FIELDS = {
    "node": {
        "os_id": Field(str, "ID of os-release, such as ubuntu"),
        "os_version_id": Field(str, "VERSION_ID; rolling distributions have none"),
        "os_pretty_name": Field(str, "PRETTY_NAME"),
        "os_id_like": Field(list, "ID_LIKE: distributions that this one is derived from"),
        "kernel_release": Field(str, "the running kernel's release"),
        "kernel_cmdline": Field(str, "kernel command line without secrets"),
        "boot_id": Field(str, "UUID of this boot"),
        "architecture": Field(str, "machine name of the kernel", values=("x86_64", "aarch64")),
        "uptime_s": Field(float, "time since boot", "s"),
    }
}

OS_RELEASE = "/etc/os-release"
OS_RELEASE_FALLBACK = "/usr/lib/os-release"
KERNEL_RELEASE = "/proc/sys/kernel/osrelease"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
CMDLINE = "/proc/cmdline"
UPTIME = "/proc/uptime"
MACHINE = "uname -m"
WANTED = (OS_RELEASE, KERNEL_RELEASE, BOOT_ID, CMDLINE, MACHINE, UPTIME)

_SECTION = re.compile(r"^==> (\S(?:.{0,200}\S)?) <==$")
_ASSIGNMENT = re.compile(r"^([A-Za-z_][A-Za-z0-9_]{0,63})=(.{0,4000})$")
_QUOTED = re.compile(r"""^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')$""")
_UUID = re.compile(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
Lines = t.List[t.Tuple[int, str]]


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if any(f"==> {path} <==\n" in text for path in WANTED[:4]):
        return 95
    names = {
        found.group(1)
        for _number, line in numbered_lines(text[:8192])
        for found in [_ASSIGNMENT.match(line)]
        if found
    }
    return 90 if {"ID", "NAME"} <= names or {"ID", "PRETTY_NAME"} <= names else 0


def join(parts: t.Mapping[str, str]) -> bytes:
    """Write the files that were found (path -> content) in the form that `read` takes.

    Secrets on the kernel command line are taken out here already, so that the
    raw output may be kept.
    """
    found = dict(parts)
    if CMDLINE in found:
        found[CMDLINE] = _redact.command_line(found[CMDLINE])
    text = "\n".join(f"==> {path} <==\n{content.strip()}\n" for path, content in found.items())
    return text.encode("utf-8", "replace")


def read(data: Data) -> Reading:
    """Read the joined files, or a bare os-release. One entity: "" with the values."""
    sections = _sections(decode(data))
    if not sections:
        says = "neither `==> PATH <==` lines nor assignments of an os-release file were found"
        return failed(KIND, UNREADABLE, "other_format" if decode(data).strip() else "empty", says)
    reading = Reading(KIND)
    node = reading.add(Entity("", values=dict.fromkeys(FIELDS["node"])))
    path = OS_RELEASE if OS_RELEASE in sections else OS_RELEASE_FALLBACK
    _os_release(reading, node.values, sections.get(path))
    if set(sections) != {OS_RELEASE}:
        _kernel_files(reading, node.values, sections)
    return reading


def _sections(text: str) -> dict[str, Lines]:
    """Return path -> its lines; a bare os-release counts as /etc/os-release."""
    found: dict[str, Lines] = {}
    current: Lines | None = None
    for number, line in numbered_lines(text):
        title = _SECTION.match(line)
        if title:
            current = found.setdefault(title.group(1), [])
        elif line and current is not None:
            current.append((number, line))
    if not found and recognise(text) >= 90:
        found[OS_RELEASE] = [(number, line) for number, line in numbered_lines(text) if line]
    return found


def _os_release(reading: Reading, values: dict[str, Value], lines: Lines | None) -> None:
    if lines is None:
        says = f"neither {OS_RELEASE} nor {OS_RELEASE_FALLBACK} is there"
        reading.note("missing_value", says, field="os_id")
        return
    names: dict[str, str | None] = {}
    for number, line in lines:
        if line.lstrip().startswith("#"):
            continue
        found = _ASSIGNMENT.match(line.strip())
        if found is None:
            _malformed(reading, number, line, "`NAME=value` was expected")
            continue
        name, text = found.groups()
        names[name] = _unquoted(text)
        if names[name] is None:
            _malformed(reading, number, line, "its quotes do not match")
    values["os_id"] = names.get("ID") or None
    values["os_version_id"] = names.get("VERSION_ID") or None
    values["os_pretty_name"] = names.get("PRETTY_NAME") or None
    values["os_id_like"] = (names.get("ID_LIKE") or "").split() or None
    if values["os_id"] is None:
        reading.note("missing_value", f"{OS_RELEASE} names no ID", field="os_id")


def _malformed(reading: Reading, number: int, line: str, why: str) -> None:
    if len(reading.problems) < 20:
        says = f"not a line of an os-release file: {why}"
        reading.note("malformed", says, line=number, verbatim=line)


def _unquoted(text: str) -> str | None:
    """Return the value without shell quotes, or None where they do not match."""
    found = _QUOTED.match(text)
    if found is None:
        return None if re.search(r"[\s\"'`$;&|<>()]", text) else text
    double, single = found.groups()
    return single if double is None else re.sub(r'\\(["$`\\])', r"\1", double)


def _kernel_files(reading: Reading, values: dict[str, Value], sections: dict[str, Lines]) -> None:
    for path, name, convert, wanted in (
        (KERNEL_RELEASE, "kernel_release", _word, "one word"),
        (BOOT_ID, "boot_id", _boot_id, "a UUID"),
        (CMDLINE, "kernel_cmdline", _command_line, "a line of text"),
        (MACHINE, "architecture", _word, "one word"),
        (UPTIME, "uptime_s", _uptime, "two numbers"),
    ):
        lines = sections.get(path)
        if not lines:
            reading.note("missing_value", f"{path} is not there or empty", field=name)
            continue
        number, text = lines[0]
        values[name] = convert(text.strip())
        if values[name] is None:
            says = f"{path}: {wanted} was expected"
            reading.note(
                "malformed", says, line=number, field=name, verbatim=_redact.command_line(text)
            )


def _word(text: str) -> str | None:
    return text if re.match(r"^[A-Za-z0-9][\w.+~:-]{0,127}$", text) else None


def _boot_id(text: str) -> str | None:
    return text.lower() if _UUID.match(text.lower()) else None


def _command_line(text: str) -> str | None:
    return _redact.command_line(text[:8192]) or None


def _uptime(text: str) -> float | None:
    found = re.match(r"^(\d{1,12}(?:\.\d{1,3})?) \d{1,15}(?:\.\d{1,3})?$", text)
    return float(found.group(1)) if found else None
