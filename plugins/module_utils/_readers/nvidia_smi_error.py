# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of what nvidia-smi says in place of an answer: its errors, by their texts.

Format: a sentence or two. The texts and the exit codes that go with them are those of
nvidia-smi(1) and of the drivers 418 to 620; the shell's own words where the program is
missing, or died; those of NVIDIA's container tools. One output may hold several, a GPU each.
Numbers of NVML come through as exit codes, too (nvml.h, nvmlReturn_t).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_errors,
    _pasted,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvidia-smi-error"
TITLE = "nvidia-smi: error messages"
VERSIONS = "driver 418 to 620"
SOURCES = (
    "nvidia-smi(1)",
    "https://docs.nvidia.com/deploy/nvml-api/ nvmlReturn_t",
    "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/387",
    "https://github.com/NVIDIA/nvidia-container-toolkit/issues/69",
)
PROVEN = True
_NAMES = _nvidia_errors.NAMES
FIELDS = {
    "node": {
        "error": Field(str, "first error", values=_NAMES),
        "errors": Field(list, "all of them, without repetition", values=_NAMES),
        "exit_status": Field(
            int, "exit code, as printed, else the one that goes with the first; null: varies"
        ),
        "library_version": Field(str, "version of the library, where a mismatch names it"),
        "text": Field(str, "the driver's own words, where they are not of a known kind"),
        "gpu_count": Field(int, "0 where no device was found; null where it is not told"),
    },
    "gpu": {
        "index": Field(int, "its index; told by newer drivers"),
        "error": Field(str, "what is wrong with it", values=_NAMES),
        "text": Field(str, "the driver's own words, where they are not of a known kind"),
    },
}
_LIBRARY = re.compile(r"^NVML library version: ([0-9]{3}\.[0-9.]{1,12})$")
_EXIT = re.compile(
    r"(?:\bexit(?:ed|ing)?(?: (?:with|code|status|value))*|\brc|\breturn ?code|\bcode)"
    r"\s*[:=]?\s*([0-9]{1,3})\W*$",
    re.IGNORECASE,
)
_ASKED = re.compile(r"echo .{0,10}\$\?")
# Lines that go with a message and say nothing of their own.
_FOLLOWS = re.compile(
    r"^(?:Make sure that the latest NVIDIA driver|Please |This can also be|Reboot the system|Try "
    r"|To recover, |Terminating early|Treating as warning|All done|The following GPUs could not"
    r"|[0-9]+ devices? (?:is|are) currently|GPU [0-9A-Fa-f:.]+ was successfully|apt install"
    r"|sudo (?:apt|snap|dnf)|Ask your administrator|Or |For more|Run '|See '|Auto-detected mode"
    r"|docker: |Usage:|NVIDIA System Management|operable program|Traceback \(most|File \""
    r"|time=\"|nvidia-smi\b.*[^:]$)"
)
_MAX_LINES = 60
# A row of a table, of values or of another output, a line of the kernel: more than errors.
_OUTPUT = re.compile(
    r"^(?:[|+]|[0-9]+, |index, |<\?xml|\{|\[\s*$|GPU [0-9]+: |=+NVSMI|# ?gpu\b)|\bNVRM: "
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line.strip() for _number, line in _pasted.lines(text[:8000])]
    if not lines or len(lines) > _MAX_LINES or any(map(_OUTPUT.search, lines)):
        return 0
    others = known = 0
    for line in lines:
        message = _nvidia_errors.understand(line)
        if message is not None and message.code != "other":
            known += 1
        elif message is None and not _says_nothing(line):
            others += 1
    ours = re.search(r"(?i)nvidia|nvml|\bgpu|No devices were|field to query|MIG-", "\n".join(lines))
    return 92 if known and ours and others <= known else 0


def read(data: Data) -> Reading:
    """Read the messages. Entities: "", `gpu:<address or index>` for those that a message names."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = Entity("", values={"errors": []})
    printed: int | None = None
    asked = False
    for number, line in _pasted.lines(data):
        word = line.strip()
        library, exited = _LIBRARY.match(word), _EXIT.search(word)
        message = None if library else _nvidia_errors.understand(word)
        if library:
            node.values["library_version"] = library.group(1)
        elif message:
            _message(reading, node, message, number, word)
        elif asked and re.match(r"^[0-9]{1,3}$", word):
            printed = int(word)
        elif not exited and not _says_nothing(word) and len(reading.problems) < 100:
            says = "not a known message of nvidia-smi"
            reading.note("malformed", says, line=number, verbatim=word)
        if exited and printed is None:
            printed = int(exited.group(1))
        asked = bool(_ASKED.search(word))
    return _whole(reading, node, printed)


def _says_nothing(line: str) -> bool:
    word = line.strip()
    return bool(
        _FOLLOWS.match(word)
        or _LIBRARY.match(word)
        or _EXIT.search(word)
        or _ASKED.search(word)
        or _pasted.is_noise(word)
        or re.match(r"^[0-9]{1,3}$", word)
    )


def _message(
    reading: Reading, node: Entity, message: _nvidia_errors.Message, number: int, line: str
) -> None:
    code = message.code
    if len(reading.problems) < 100:
        problem = "tool_absent" if code == "tool_missing" else "tool_error"
        reading.note(problem, code.replace("_", " "), line=number, verbatim=line)
    node.values.setdefault("error", code)
    node.values.setdefault("exit_status", message.exit_status)
    listed = node.values["errors"]
    if isinstance(listed, list) and code not in listed:
        listed.append(code)
    if message.path is None:
        if message.text:
            node.values.setdefault("text", message.text)
        return
    gpu = reading.added(message.path) or reading.add(Entity(message.path), number)
    gpu.ids.setdefault("pci", message.pci)
    gpu.values.setdefault("error", code)
    gpu.values.setdefault("index", message.index)
    if message.text:
        gpu.values.setdefault("text", message.text)


def _whole(reading: Reading, node: Entity, printed: int | None) -> Reading:
    errors = node.values["errors"]
    if not errors or (errors == ["other"] and not reading.entities):
        code = "other_format" if reading.problems else "empty"
        reading.note(code, "no known message of nvidia-smi")
        reading.quality = UNREADABLE
        return reading
    if printed is not None:
        node.values["exit_status"] = printed
    node.values["gpu_count"] = 0 if isinstance(errors, list) and "no_devices" in errors else None
    reading.entities.insert(0, node)
    reading.quality = ABSENT if node.values["error"] in _nvidia_errors.ABSENCES else ERROR
    return reading
