# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `apt-cache policy PACKAGE...` and of the refusals of apt-get.

An unknown package gives an empty output and exit code 0: that is `absent`.
Versions: apt 1.6 to 3.0, LC_ALL=C.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "apt"
TITLE = "Packages by apt-cache policy; refusals of apt-get"
VERSIONS = "apt 1.6 to 3.0"
SOURCES = ("https://manpages.debian.org/bookworm/apt/apt-cache.8.en.html",)
PROVEN = True
FIELDS = {
    "node": {"held_broken": Field(bool, "apt-get says that held packages are broken")},
    "package": {
        "installed": Field(str, "version; null where it is not installed"),
        "candidate": Field(str, "version that would be installed; null where there is none"),
        "repositories": Field(list, "where versions come from, as printed"),
        "unmet": Field(list, "dependencies that cannot be met, as printed"),
    },
}
_NAME = re.compile(r"^([a-z0-9][a-z0-9+.:-]{1,99}):$")
_UNMET = re.compile(
    r"^ +([a-z0-9][a-z0-9+.:-]{1,99}) : ((?:Pre-)?Depends|Conflicts|Breaks|Recommends): (.+)$"
)
_VALUE = re.compile(r"^  (Installed|Candidate|Package pin): (\S.*)$")
_SOURCE = re.compile(r"^ {4,}-?[0-9]{1,6} (\S.*)$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^  Installed: .*\n  Candidate: ", text):
        return 96
    has_refusal = "unmet dependencies:" in text or "you have held broken packages" in text
    return 90 if has_refusal else 0


def read(data: Data) -> Reading:
    """Read one output; entities `package:<name>`."""
    reading = Reading(KIND)
    text = decode(data)
    node = Entity("", values={"held_broken": "you have held broken packages" in text})
    reading.add(node)
    if not text.strip():
        reading.note("empty", "apt-cache policy said nothing: no repository has the package")
        reading.quality = ABSENT
        return reading
    entity: Entity | None = None
    for line_number, line in numbered_lines(text):
        name, unmet = _NAME.match(line), _UNMET.match(line)
        if name:
            entity = reading.add(Entity("package:" + name.group(1).replace(":", "_")), line_number)
        elif unmet:
            _unmet(reading, *unmet.groups())
        elif line.startswith(("E: ", "W: ", "N: ")):
            reading.note("tool_error", "apt reported this", line=line_number, verbatim=line)
        elif entity is not None:
            _value(entity, line)
    return _finish(reading)


def _unmet(reading: Reading, package: str, relation: str, rest: str) -> None:
    path = "package:" + package.replace(":", "_")
    entity = reading.entity(path) or reading.add(Entity(path))
    listed = entity.values.setdefault("unmet", [])
    if isinstance(listed, list):
        listed.append(f"{relation}: {rest.strip()}")


def _value(entity: Entity, line: str) -> None:
    value, source = _VALUE.match(line), _SOURCE.match(line)
    if value:
        word = value.group(2).strip()
        name = value.group(1).lower()
        if name != "package pin":
            entity.values.setdefault(name, None if word == "(none)" else word)
    elif source:
        listed = entity.values.setdefault("repositories", [])
        if isinstance(listed, list) and source.group(1) not in listed and len(listed) < 100:
            listed.append(source.group(1))


def _finish(reading: Reading) -> Reading:
    packages = reading.entities[1:]
    for entity in packages:
        if "unmet" not in entity.values and "candidate" not in entity.values:
            reading.note("truncated", f"{entity.path} has no Candidate:", entity=entity.path)
    refused = any(
        one.code == "tool_error" and str(one.verbatim).startswith("E:") for one in reading.problems
    )
    if refused or any("unmet" in one.values for one in packages):
        if not reading.problems:
            reading.note("tool_error", "apt-get refused: dependencies cannot be met")
        reading.quality = ERROR
    elif not packages:
        reading.note("other_format", "nothing that apt-cache policy or apt-get prints")
        reading.quality = UNREADABLE
    return reading
