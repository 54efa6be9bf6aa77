# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of what nvidia-smi says in place of an answer: its errors, by their texts.

Format: a sentence or two. The texts and the exit codes that go with them are those of
nvidia-smi(1) and of the drivers 470 to 620; the shell's own words where the program is
missing. One output may hold several, a GPU each. Numbers of NVML come through as exit
codes, too (nvml.h, nvmlReturn_t).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
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

KIND = "nvidia-smi-error"
TITLE = "nvidia-smi: error messages"
VERSIONS = "driver 470 to 620"
SOURCES = ("nvidia-smi(1)", "https://docs.nvidia.com/deploy/nvml-api/ nvmlReturn_t")
PROVEN = True
# What the message means, the exit code that goes with it, and its text.
_MESSAGES: tuple[tuple[str, int | None, str], ...] = (
    ("tool_missing", 127, r"nvidia-smi: (?:command )?not found|nvidia-smi: No such file"),
    (
        "tool_missing",
        127,
        r"executable file not found in \$PATH.*nvidia-smi|nvidia-smi.*executable",
    ),
    (
        "driver_not_loaded",
        9,
        r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    ),
    ("version_mismatch", 18, r"Failed to initialize NVML: Driver/library version mismatch"),
    ("library_missing", 12, r"couldn't find libnvidia-ml|NVIDIA-SMI couldn't find"),
    ("driver_not_loaded", 9, r"Failed to initialize NVML: Driver Not Loaded"),
    ("no_permission", 4, r"Failed to initialize NVML: Insufficient Permissions"),
    ("gpu_access_blocked", 17, r"Failed to initialize NVML: GPU access blocked by the operating"),
    ("initialize_failed", 255, r"Failed to initialize NVML: (?P<text>.{1,100})"),
    ("no_devices", 6, r"No devices were found"),
    (
        "gpu_lost",
        15,
        r"Unable to determine the device handle for (?:gpu|GPU)\s?\d*:?\s?(?P<pci>[0-9A-Fa-f:.]+?)"
        r":\s+(?:GPU is lost|The NVML library.*lost)",
    ),
    (
        "gpu_requires_reset",
        16,
        r"Unable to determine the device handle for (?:gpu|GPU)\s?\d*:?\s?(?P<pci>[0-9A-Fa-f:.]+?)"
        r":\s+(?:GPU requires reset|Reset required)",
    ),
    (
        "gpu_not_found",
        6,
        r"Unable to determine the device handle for (?:gpu|GPU)\s?\d*:?\s?(?P<pci>[0-9A-Fa-f:.]+?)"
        r":\s+(?:Not Found|No such device)",
    ),
    (
        "gpu_not_answering",
        255,
        r"Unable to determine the device handle for (?:gpu|GPU)\s?\d*:?\s?(?P<pci>[0-9A-Fa-f:.]+?)"
        r":\s+(?P<text>.{1,100})",
    ),
    ("gpu_in_use", 19, r"(?P<pci>[0-9A-Fa-f]{8}:[0-9A-Fa-f:.]+).*In use by another client"),
    ("gpu_in_use", 19, r"In use by another client"),
    ("inforom_corrupted", 14, r"infoROM is corrupted at gpu\s*(?P<pci>[0-9A-Fa-f:.]+)"),
    ("no_permission", 4, r"Insufficient Permissions|does not have permission"),
    ("not_supported", 3, r"is not supported (?:for|on) (?:this )?(?:GPU|device)"),
    ("bad_field", 2, r'Field ".{1,100}" is not a valid field to query'),
    ("bad_argument", 2, r"Invalid combination of input arguments|Option .{1,60} is not recognized"),
    ("timed_out", 124, r"^(?:timeout|Timeout): .*nvidia-smi|timed out after \d+ seconds"),
)
_PATTERNS = tuple((code, exit_code, re.compile(text)) for code, exit_code, text in _MESSAGES)
_NAMES = tuple(sorted({code for code, _exit, _text in _MESSAGES}))
FIELDS = {
    "node": {
        "error": Field(str, "first error", values=_NAMES),
        "errors": Field(list, "all of them, without repetition", values=_NAMES),
        "exit_status": Field(int, "exit code that goes with the first; null where it varies"),
        "library_version": Field(str, "version of the library, where a mismatch names it"),
        "gpu_count": Field(int, "0 where no device was found; null where it is not told"),
    },
    "gpu": {
        "error": Field(str, "what is wrong with it", values=_NAMES),
        "text": Field(str, "the driver's own words, where they are not of a known kind"),
    },
}
_LIBRARY = re.compile(r"^NVML library version: ([0-9]{3}\.[0-9.]{1,12})$")
# Lines that go with a message and say nothing of their own.
_FOLLOWS = re.compile(
    r"^(?:Make sure that the latest NVIDIA driver|Please also try adding directory|This can also be"
    r"|Reboot the system|Try reducing|To recover, |WARNING: infoROM)"
)
_ABSENT = frozenset({"tool_missing", "no_devices"})
_MAX_LINES = 60


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line for line in text[:8000].split("\n") if line.strip()]
    if not lines or len(lines) > _MAX_LINES:
        return 0
    known = [line for line in lines if _match(line) is not None]
    others = [line for line in lines if _match(line) is None and not _follows(line)]
    return 92 if known and len(others) <= len(known) else 0


def read(data: Data) -> Reading:
    """Read the messages. Entities: "", `gpu:<pci address>` for those that a message names."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = Entity("", values={"errors": []})
    for number, line in numbered_lines(decode(data)):
        word = line.strip()
        found, library = _match(word), _LIBRARY.match(word)
        if library:
            node.values["library_version"] = library.group(1)
        elif found:
            _message(reading, node, found, number, word)
        elif word and not _follows(word):
            says = "not a known message of nvidia-smi"
            reading.note("malformed", says, line=number, verbatim=word)
    errors = node.values["errors"]
    if not errors:
        reading.note("other_format", "no known message of nvidia-smi")
        reading.quality = UNREADABLE
        return reading
    node.values["gpu_count"] = 0 if node.values["error"] == "no_devices" else None
    reading.entities.insert(0, node)
    reading.quality = ABSENT if node.values["error"] in _ABSENT else ERROR
    return reading


def _follows(line: str) -> bool:
    word = line.strip()
    return bool(_FOLLOWS.match(word) or _LIBRARY.match(word))


def _match(line: str) -> tuple[str, int | None, t.Match[str]] | None:
    for code, exit_code, pattern in _PATTERNS:
        found = pattern.search(line[:1000])
        if found:
            return code, exit_code, found
    return None


def _message(
    reading: Reading,
    node: Entity,
    found: tuple[str, int | None, t.Match[str]],
    number: int,
    line: str,
) -> None:
    code, exit_code, match = found
    problem = "tool_absent" if code == "tool_missing" else "tool_error"
    reading.note(problem, code.replace("_", " "), line=number, verbatim=line)
    node.values.setdefault("error", code)
    node.values.setdefault("exit_status", exit_code)
    listed = node.values["errors"]
    if isinstance(listed, list) and code not in listed:
        listed.append(code)
    groups = match.groupdict()
    address = pci_address(groups.get("pci") or "")
    if address:
        gpu = reading.add(Entity(f"gpu:{address}", {"pci": address}), number)
        gpu.values.setdefault("error", code)
        if groups.get("text"):
            gpu.values.setdefault("text", groups["text"].strip())
