# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What readers of nvidia-smi's texts for people share: clean lines, the tool's own errors.

Private to trackbed.cluster. Such texts come from terminals, tickets and web pages:
with colours, quoted, indented, behind a time stamp, after a prompt.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    NOT_APPLICABLE,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

_ANSI = re.compile(
    r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b\([AB0]|(?:\^\[)?\[[0-9]{1,2}(?:;[0-9]{1,3}){0,3}m"
)
# Fences, headings and frames of pages and tickets, and the places where people cut.
_FRAME = re.compile(
    r"^(?:`{3,}.*|~{3,}.*|[=#*_-]{3,}.*|[|:+ -]{3,}|</?[a-z][^<>]{0,80}>|#+ .*|//.*)$"
)
_PROMPT = re.compile(
    r"(?:^|[\s/])nvidia-smi(?:\s+[\w.,=/-]{1,64})*\s*$|^Every [0-9.]{1,6}s: |^\S{1,80}[$#]$"
)
# A time and a host, of a log in which the line itself was empty.
_STAMP = re.compile(
    r"^\W{0,2}(?:[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ]|[A-Z][a-z]{2} [ 0-9][0-9] )?"
    r"[0-9]{2}:[0-9]{2}:[0-9]{2}\S{0,16}(?:\s+[\w.-]{1,64}:?)?$"
)
_ELISION = re.compile(
    r"^\W{0,4}(?:\.{3,}|\u2026+|\[?(?:\.{3}|\u2026|snip\w*|truncated)\]?)\W{0,4}$"
)
_TOOL_ERROR = re.compile(
    r"NVIDIA-SMI has failed|Failed to initialize NVML|Unable to determine the device handle"
    r"|couldn't communicate with the NVIDIA driver|NVML library version|Insufficient [Pp]ermissions"
    r"|(?:info|inf)ROM is corrupted|GPU is lost|GPU requires reset|[Ss]egmentation fault"
    r"|Invalid combination of input arguments|is not a valid|Option .* is not recognized"
    r"|Driver/library version mismatch|timed out|Killed$|No such device"
)
_NO_DEVICE = re.compile(r"No devices were found|No devices found")
_GPU_PCI = re.compile(
    r"\bGPU ?((?:[0-9A-Fa-f]{4,8}:)[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])", re.IGNORECASE
)


def clean_lines(data: Data) -> t.Iterator[tuple[int, str]]:
    """Yield number and text of each line, without colours; hard blanks are blanks."""
    text = decode(data)
    if "\x1b" in text or "[" in text:
        text = _ANSI.sub("", text)
    for number, line in numbered_lines(text):
        yield number, line.replace("\xa0", " ").replace("\u200b", "")


def is_frame(line: str) -> bool:
    """Tell whether the line is of the page around an output: a fence, a heading, a prompt."""
    word = line.strip().strip(">").strip()
    return not word or any(one.search(word) for one in (_FRAME, _PROMPT, _STAMP))


def is_elision(line: str) -> bool:
    """Tell whether somebody wrote here that lines were left out."""
    return bool(_ELISION.match(line.strip()))


def error_of_tool(reading: Reading, number: int, line: str) -> bool:
    """Record the tool's own complaint, and return whether this line is one."""
    word = line.strip()
    gone = _NO_DEVICE.search(word)
    if not gone and not _TOOL_ERROR.search(word):
        return False
    says = "nvidia-smi found no GPU" if gone else "nvidia-smi complained"
    _plain.note(reading, "tool_error", says, line=number, verbatim=word)
    return True


def pci_in(line: str) -> str | None:
    """Return the PCI address of the GPU of which a complaint speaks."""
    found = _GPU_PCI.search(line)
    return pci_address(found.group(1)) if found else None


def unreadable(reading: Reading, path: str, found: list[tuple[str, str]], line: int) -> None:
    """Say once for an entity what it did not answer for: a dead GPU has many such values."""
    if not found:
        return
    names = ", ".join(name for name, _word in found[:6])
    rest = f" and {len(found) - 6} more" if len(found) > 6 else ""
    where = {"line": line, "entity": path, "field": found[0][0], "verbatim": found[0][1]}
    _plain.note(reading, "unreadable_value", f"{path} did not answer for {names}{rest}", **where)


def nothing(reading: Reading, wanted: str, text: str) -> Reading:
    """Return the reading of an input without any entity, with the reason for it."""
    _plain.nothing(reading, wanted)
    if reading.quality == ERROR and _NO_DEVICE.search(text):
        reading.quality = ABSENT
    return reading


def not_applicable(reading: Reading) -> None:
    """Mark the reading as of a device that has no such thing."""
    reading.quality = NOT_APPLICABLE
