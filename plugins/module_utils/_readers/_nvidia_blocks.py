# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes the text of `nvidia-smi -q` apart into what stands before the GPUs, and each GPU.

Private to trackbed.cluster. What people hand on is often a part: one section without the
line of its GPU, the lines that grep found, several outputs after each other.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_sections,
    _nvidia_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_sections import (
    LABELS,
    NODE_LABELS,
    SECTIONS,
    TOP,
    Nesting,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence, decode

Values = t.Dict[str, t.Tuple[str, int]]
HEAD = re.compile(r"={3,} ?NVSMI LOG ?={3,}", re.IGNORECASE)
GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$", re.IGNORECASE)
_LABEL = re.compile(r"^[A-Za-z][\w ./()-]{1,60}$", re.ASCII)
# At the start of a line only: as a value these words belong to it.
_ERROR = re.compile(
    r"^(?:NVIDIA-SMI has failed|Failed to initialize|Unable to determine|No devices |WARNING: "
    r"|Segmentation fault|Killed$|nvidia-smi: |timeout: |Failed to )"
)
_SELECTED = re.compile(r"nvidia-smi\b.* (?:-i|--id)[ =]")
_MAX_GPUS = 256
_MAX_PARTS = 4096  # MIG devices, processes of one GPU: more is an input that repeats itself
_FIRST_OF_PROCESS = ("gpu instance id", "process id")
_LEAST_OF_GPU = 10  # labels after which a second name begins another GPU


class Block:
    """The lines of one GPU, by the path of their labels."""

    def __init__(self, address: str | None, output: int, is_flat: bool) -> None:
        self.address = address
        self.output = output
        self.values: Values = {}
        self.processes: list[Values] = []
        self.migs: list[Values] = []
        self.tops: list[str] = []
        self.nesting = Nesting(is_flat)

    def begins_anew(self, label: str) -> bool:
        """Tell whether this label of the first level means that the next GPU has begun."""
        if label not in self.tops or label in ("processes", "mig device"):
            return False
        return self.address is None or (label == "product name" and len(self.tops) >= _LEAST_OF_GPU)

    def keep(self, path: str, label: str, value: str | None, number: int) -> None:
        """Keep a line; what stands twice is kept as it stood first."""
        top, _slash, rest = path.partition("/")
        if top not in self.tops:
            self.tops.append(top)
        if top == "processes" and rest:
            _keep_part(self.processes, label, _FIRST_OF_PROCESS, value, number)
        elif top in ("mig device", "mig devices"):
            rest = rest[len("mig device/") :] if rest.startswith("mig device/") else rest
            if (not rest and value is None) or rest == "mig device":
                self.migs.append({})
            elif rest:
                _keep_part(self.migs, rest, ("index",), value, number)
        elif value is not None:
            self.values.setdefault(path, (value, number))

    def forget(self, number: int) -> None:
        """Forget the value of a line: its end may be missing."""
        for part in (self.values, *self.migs, *self.processes):
            for path in [path for path, one in part.items() if one[1] == number]:
                del part[path]

    def look(self, place: str) -> str | None:
        """Return the text at a place."""
        found = self.values.get(place)
        return found[0] if found else None

    def identity(self, label: str) -> str | None:
        """Return what identifies the GPU; None where it is not told."""
        word = (self.look(label) or "").strip()[:200]
        return word if word and not absence(word) else None


def _keep_part(
    parts: list[Values], path: str, firsts: tuple[str, ...], value: str | None, number: int
) -> None:
    """Keep a line of a process or a MIG device; its first label begins the next one."""
    if value is None or len(parts) > _MAX_PARTS:
        return
    if not parts or (path in parts[-1] and path in firsts):
        parts.append({})
    parts[-1].setdefault(path, (value, number))


class Found(t.NamedTuple):
    """What is in the text."""

    heads: list[Values]  # of each output what stands before its GPUs
    blocks: list[Block]
    is_selected: bool  # the command asked for some GPUs only
    is_cut: bool  # the last line is not whole
    is_elided: bool  # somebody left lines out, and said so
    last_line: int  # number of the last line of a GPU


class _Scan:
    def __init__(self, reading: Reading, lines: list[tuple[int, str]]) -> None:
        self._reading = reading
        self._is_flat = _is_flat(lines)
        self.heads: list[Values] = []
        self.blocks: list[Block] = []
        self.is_selected = self.is_elided = False
        self.last: tuple[str, str | None] = ("", "")
        self.line = 0
        self._indent = -1  # of the GPU's line
        self._is_new_output = True

    def take(self, number: int, line: str) -> None:
        """Take a line."""
        word = line.strip()
        gpu = GPU.match(word)
        if HEAD.search(word):
            self._is_new_output = True
        elif gpu:
            self._block(gpu.group(1))
            self._indent = len(line) - len(line.lstrip())
            self.last = ("gpu", "")
        elif not self._pair(number, line):
            self._other(number, word)

    def _pair(self, number: int, line: str) -> bool:
        """Take a label, with its value if it has one; return whether the line is one."""
        name, colon, rest = line.strip().partition(":")
        label, value = name.strip().lower(), rest.strip() if colon else None
        if label in NODE_LABELS and value is not None:
            self._of_node(label, value, number)
            return True
        indent = len(line) - len(line.lstrip())
        if label not in LABELS:
            inside = self.blocks and (indent > self._indent or self._is_flat)
            if not inside or not _LABEL.match(label) or self._is_noise(line):
                return False
        elif not self.blocks:
            if label not in TOP:
                return False
            self._block(None)
        path = self.blocks[-1].nesting.path(indent, label, value is not None)
        if path == label and self.blocks[-1].begins_anew(label):
            self._block(None)
            path = self.blocks[-1].nesting.path(indent, label, value is not None)
        self.blocks[-1].keep(path, label, value, number)
        self.last, self.line = (label, value), number
        return True

    def _of_node(self, label: str, value: str, number: int) -> None:
        if not self.heads or self._is_new_output or label in self.heads[-1]:
            self.heads.append({})
            self._is_new_output = False
        self.heads[-1][label] = (value, number)
        self.last = (label, value)

    def _block(self, address: str | None) -> None:
        if len(self.blocks) < _MAX_GPUS:
            output = max(0, len(self.heads) - 1)
            self.blocks.append(Block(address, output, self._is_flat))

    def _is_noise(self, line: str) -> bool:
        word = line.strip()
        return bool(
            _pasted.is_noise(line)
            or _nvidia_text.is_frame(word)
            or _nvidia_text.is_elision(word)
            or _ERROR.match(word)
        )

    def _other(self, number: int, word: str) -> None:
        self.is_selected = self.is_selected or bool(_SELECTED.search(word))
        if _nvidia_text.is_elision(word):
            self.is_elided, self.last = True, ("", "")
        elif _ERROR.match(word):
            if not _nvidia_text.error_of_tool(self._reading, number, word):
                says = "nvidia-smi complained"
                _plain.note(self._reading, "tool_error", says, line=number, verbatim=word)
        elif _pasted.is_noise(word) or _nvidia_text.is_frame(word):
            return
        elif not self.blocks and self.heads and _LABEL.match(word.partition(":")[0].strip()):
            return  # more that a driver says of the node, such as vGPU Driver Capability
        elif self.heads or self.blocks:  # before them stand a person's words
            self.last, self.line = (word.lower(), None), number
            _plain.malformed(self._reading, number, word, "a line of nvidia-smi -q")
        elif word.endswith("command not found"):
            _plain.malformed(self._reading, number, word, "a line of nvidia-smi -q")


def _is_flat(lines: list[tuple[int, str]]) -> bool:
    """Tell whether the indentation was lost: sections and their values begin in one column."""
    indents, sections = set(), 0
    for _number, line in lines:
        name, colon, _value = line.strip().partition(":")
        label = name.strip().lower()
        if label in LABELS and label not in NODE_LABELS:
            indents.add(len(line) - len(line.lstrip()))
            sections += not colon
    return len(indents) == 1 and sections > 0


def scan(data: Data, reading: Reading) -> Found:
    """Take the text apart; what is no line of this format becomes a problem."""
    lines = _pasted.lines(decode(data).expandtabs(8).replace("\xa0", " "))
    found = _Scan(reading, lines)
    for number, line in lines:
        found.take(number, line)
    label, value = found.last
    is_section = value is None and (
        label in SECTIONS or label in LABELS or _nvidia_sections.is_start_of_label(label)
    )
    is_cut = bool(found.blocks) and (is_section or (value == "" and label != ""))
    return Found(found.heads, found.blocks, found.is_selected, is_cut, found.is_elided, found.line)
