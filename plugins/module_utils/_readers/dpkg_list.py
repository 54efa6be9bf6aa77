# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dpkg -l`: versions and states of packages.

Two letters before each name: what is wanted, what is; a third where an error holds
it up. dpkg cuts names and versions to the width of the terminal, unless COLUMNS is
large: the length of the line below the heading shows how far.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
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

KIND = "dpkg-l"
TITLE = "Debian packages by dpkg -l"
VERSIONS = "dpkg 1.17 to 1.22"
SOURCES = ("https://manpages.debian.org/bookworm/dpkg/dpkg-query.1.en.html",)
PROVEN = True
_WANTED = {"u": "unknown", "i": "install", "h": "hold", "r": "remove", "p": "purge"}
_STATES = {
    "n": "not_installed",
    "c": "config_files",
    "H": "half_installed",
    "U": "unpacked",
    "F": "half_configured",
    "W": "triggers_awaited",
    "t": "triggers_pending",
    "i": "installed",
}
FIELDS = {
    "node": {
        "package_count": Field(int, "packages listed"),
        "held_count": Field(int, "packages on hold"),
        "unfinished_count": Field(int, "neither installed, removed nor left with config files"),
    },
    "package": {
        "version": Field(str, "version; null where it is not installed"),
        "architecture": Field(str, "machine"),
        "wanted": Field(str, "what was asked for", None, tuple(_WANTED.values())),
        "state": Field(str, "what it is", None, tuple(_STATES.values())),
        "reinst_required": Field(bool, "so broken that it must be installed again"),
        "held": Field(bool, "on hold: upgrades leave it alone"),
    },
}
_ROW = re.compile(
    r"^([uihrp])([ncHUFWti])([R ])\s*(\S{1,200})\s+(\S{1,200})\s+(\S{1,40})(?:\s.*)?$"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 96 if re.search(r"(?m)^Desired=Unknown/Install/Remove/Purge/Hold", text) else 0


def read(data: Data) -> Reading:
    """Read one list; entities `package:<name>`."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    seen_rule = False
    for line_number, line in numbered_lines(decode(data)):
        row = _ROW.match(line)
        if line.startswith("+++-"):
            seen_rule = True
        elif row and seen_rule:
            wanted, state, error, name, version, architecture = row.groups()
            entity = Entity("package:" + re.sub("[/:]", "_", name))
            entity.values.update(
                {
                    "version": None if version == "<none>" else version,
                    "architecture": None if architecture == "<none>" else architecture,
                    "wanted": _WANTED[wanted],
                    "state": _STATES[state],
                    "reinst_required": error == "R",
                    "held": wanted == "h",
                }
            )
            reading.add(entity, line_number)
        elif line.startswith("dpkg-query: "):
            reading.note("tool_error", "dpkg said this", line=line_number, verbatim=line)
        elif line.strip() and seen_rule:
            reading.note(
                "malformed", "not a row of dpkg -l", line=line_number, verbatim=line.strip()
            )
    return _finish(reading, node)


def _finish(reading: Reading, node: Entity) -> Reading:
    packages = reading.entities[1:]
    done = ("installed", "config_files", "not_installed")
    node.values["package_count"] = len(packages)
    node.values["held_count"] = sum(one.values["held"] is True for one in packages)
    node.values["unfinished_count"] = sum(one.values["state"] not in done for one in packages)
    if not packages:
        told = any(one.code == "tool_error" for one in reading.problems)
        if not told:
            reading.note("other_format", "no row of dpkg -l")
        reading.quality = ABSENT if told else UNREADABLE
    return reading
