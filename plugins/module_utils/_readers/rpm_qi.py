# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `rpm -qi` and `rpm -qa`: what the RPM database says of installed packages.

Format: a block of `Label : value` lines for each package, the first of them Name, and
a description behind them; `package NAME is not installed` for what is not there. RPM
before 4.10 puts two labels into a line. `rpm -qa` lists `name-version-release.machine`, with
the date of installation behind it where `--last` was asked for.
Versions: rpm 4.4 to 6.0. Source: rpm(8).
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "rpm-qi"
TITLE = "Installed packages by rpm -qi and rpm -qa"
VERSIONS = "rpm 4.4 to 6.0"
SOURCES = ("rpm(8)",)
PROVEN = True
_LABELS = {
    "Name": "name",
    "Epoch": "epoch",
    "Version": "version",
    "Release": "release",
    "Architecture": "architecture",
    "Install Date": "installed",
    "Size": "size_b",
    "License": "license",
    "Signature": "signature",
    "Source RPM": "source_package",
    "Build Date": "built",
    "Build Host": "build_host",
    "Packager": "packager",
    "Vendor": "vendor",
    "URL": "url",
    "Summary": "summary",
}
FIELDS = {
    "node": {
        "package_count": Field(int, "packages told of"),
        "missing_packages": Field(list, "asked for and not installed"),
    },
    "package": {
        "name": Field(str, "name"),
        "epoch": Field(int, "epoch; null where there is none"),
        "version": Field(str, "upstream version"),
        "release": Field(str, "release of the packager"),
        "architecture": Field(str, "machine, or noarch"),
        "installed": Field(str, "when it was installed, as printed; null where it is not"),
        "size_b": Field(int, "size of its files", "B"),
        "license": Field(str, "licence"),
        "signature": Field(str, "signature, as printed; null where it is unsigned"),
        "signed": Field(bool, "it carries a signature"),
        "source_package": Field(str, "source package"),
        "built": Field(str, "when it was built, as printed"),
        "build_host": Field(str, "where it was built"),
        "packager": Field(str, "packager"),
        "vendor": Field(str, "vendor"),
        "url": Field(str, "home page"),
        "summary": Field(str, "summary"),
    },
}
_NAME = re.compile(r"^Name\s*: ")
_LABEL = re.compile(r"^([A-Z][A-Za-z ]{2,15}?)\s*: (.*)$")
_SECOND = re.compile(r"\s{2,}([A-Z][A-Za-z ]{2,15}?)\s*: (.*)$")
_MISSING = re.compile(r"^package (\S{1,200}) is not installed$")
# A line of `rpm -qa`, with a date behind it where --last was asked for; keys have no machine.
_LISTED = re.compile(
    r"^([A-Za-z0-9][A-Za-z0-9_.+-]{0,199})-(?:([0-9]{1,6}):)?([^\s:-]{1,60})-([^\s-]{1,80}?)"
    r"(?:\.(x86_64|aarch64|noarch|i[3-6]86|ppc64le|s390x|riscv64|\(none\))|(?<=[0-9a-f]{8}))"
    r"(?:\s{2,}(\S.{5,60}))?$"
)
_NONE = frozenset({"(none)", "(not installed)", ""})


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:20000])
    lines = [line for line in head.split("\n") if not _pasted.is_noise(line)]
    rows = sum(bool(_LISTED.match(line)) for line in lines)
    if rows and rows * 5 >= len(lines) * 4:
        return 90 if rows > 2 else 70
    if re.search(r"(?m)^Name\s*: ", head):
        if re.search(r"(?m)^Release\s*: .*$", head):
            return 96
        return 80 if re.search(r"(?m)^Name\s*: \S.*\nVersion\s*: ", head) else 0
    return 88 if re.search(r"(?m)^package \S+ is not installed$", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `package:<name>` (with `.<machine>` for a second one)."""
    reading = Reading(KIND, tool_name="rpm")
    found: list[Entity] = []
    missing: list[str] = []
    described = False
    for number, line in _pasted.lines(data):
        gone = _MISSING.match(line)
        pair = _LABEL.match(line)
        listed = _LISTED.match(line)
        if _NAME.match(line):
            found.append(Entity("package:"))
            described = False
        if gone:
            missing.append(gone.group(1))
        elif listed and (not found or not described):
            found.append(_listed(*listed.groups()))
            described = False
        elif line.startswith("Description"):
            described = True
        elif found and pair and not described:
            _labels(reading, found[-1], pair.group(1), pair.group(2), number)
        elif not described:
            _pasted.strange(reading, number, line, "a label of rpm -qi")
    if not found and not missing:
        return _plain.nothing(reading, "`Name :`")
    node = reading.add(Entity("", values={"package_count": len(found)}))
    node.values["missing_packages"] = list(missing)
    seen: Counter[str] = Counter()
    for package in found:
        _keep(reading, package, seen)
    return reading


def _listed(
    name: str,
    epoch: str | None,
    version: str,
    release: str,
    architecture: str | None,
    installed: str | None,
) -> Entity:
    """Return a package of `rpm -qa`."""
    values: dict[str, t.Any] = {"name": name, "version": version, "release": release}
    values["epoch"] = int(epoch) if epoch else None
    values["architecture"] = None if architecture in (None, "(none)") else architecture
    if installed:
        values["installed"] = installed.strip()
    return Entity("package:", values=values)


def _labels(reading: Reading, package: Entity, label: str, value: str, number: int) -> None:
    """Put a line's value, and the one of a second label in the line of older versions."""
    second = _SECOND.search(value)
    if second and second.group(1) in {*_LABELS, "Relocations", "Group"}:
        value = value[: second.start()]
        _labels(reading, package, second.group(1), second.group(2), number)
    name = _LABELS.get(label)
    if name is None:
        return
    word = value.strip()
    if word in _NONE:
        package.values[name] = None
        return
    reader = _plain.integer if name in ("size_b", "epoch") else _plain.text
    _plain.put(reading, package, name, word, reader, number)


def _keep(reading: Reading, package: Entity, seen: Counter[str]) -> None:
    values = package.values
    name = str(values.get("name") or "unnamed").replace("/", "_")
    path = f"package:{name}"
    seen[path] += 1
    if seen[path] > 1:  # another machine's, or one of several kernels
        path = f"{path}.{values.get('architecture') or 'noarch'}"
        seen[path] += 1
        path = path if seen[path] == 1 else f"{path}_{seen[path] + 1}"
    values.setdefault("epoch", None)
    if "signature" in values:
        values["signed"] = values["signature"] is not None
    kept = reading.add(Entity(path, values=values, notes=package.notes))
    absent = [one for one in ("version", "release", "architecture") if not values.get(one)]
    if kept.values is values and absent and name != "gpg-pubkey":
        says = f"{', '.join(absent)} of {name} is not told"
        _plain.note(reading, "truncated", says, entity=path)
