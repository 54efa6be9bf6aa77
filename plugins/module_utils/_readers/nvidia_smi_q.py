# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the text of `nvidia-smi -q`, whole or of some sections (-d).

Format: `Label : value` lines below `GPU <bus id>`, nested by four blanks; a label may
have a value and lines below it (HW Slowdown). Values have the names that the reader of
the XML gives them. Driver 610 puts a deprecation into the values of Driver Version and
CUDA Version. Text has no end mark: what is missing shows in the count alone. Seen:
driver 470 to 610, Linux and Windows.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    GPU_FIELDS,
    VALUES,
    Value,
    convert,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_labels import (
    PLACES,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
    failed,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    absence,
    decode,
    numbered_lines,
)

KIND = "nvidia-smi-q"
TITLE = "nvidia-smi -q: the state of the GPUs, as text"
VERSIONS = "driver 470 to 610"
SOURCES = ("https://docs.nvidia.com/deploy/nvidia-smi/", "nvidia-smi(1)")
PROVEN = True
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "cuda_version": Field(str, "newest CUDA that this driver serves"),
        "attached_gpus": Field(int, "GPUs that the driver says it has"),
        "gpu_count": Field(int, "GPUs in the output"),
    },
    "gpu": dict(
        {
            "process_count": Field(int, "processes on the GPU"),
            "mig_device_count": Field(int, "MIG devices"),
            "minor_number": Field(int, "number of /dev/nvidiaN"),
        },
        **GPU_FIELDS,
    ),
    "mig": {
        "gpu_instance_id": Field(int, "GPU instance"),
        "compute_instance_id": Field(int, "compute instance"),
        "memory_total_mib": Field(int, "its part of the frame buffer"),
    },
}
_HEAD = "NVSMI LOG"
_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_PAIR = re.compile(r"^(\S.{0,78}?)\s*:(?:\s(.*))?$")
_DEPRECATED = re.compile(r"\s*\[Deprecated.*$")
_SEPARATOR = re.compile(r"^[=\s]*NVSMI LOG[=\s]*$|^=+$")
_MAX_TEXT = 200
_MAX_GPUS = 256
_Values = t.Dict[str, t.Tuple[str, int]]


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if re.search(r"(?m)^=+NVSMI LOG=+\s*$", head):
        return 97
    gpu = re.search(r"(?m)^GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\s*$", head)
    return 90 if gpu and re.search(r"(?m)^    [A-Z][^:\n]{2,60}(?: :|$)", head) else 0


def read(data: Data) -> Reading:
    """Read the output. Entities: "", `gpu:N` in its order, `gpu:N/mig:M`."""
    top, blocks, strange = _blocks(decode(data))
    if not blocks and "attached gpus" not in top:
        return failed(
            KIND, UNREADABLE, "other_format", "neither `Attached GPUs` nor `GPU <bus id>`"
        )
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = reading.add(Entity(""))
    _of_node(reading, node, top)
    for index, (address, block) in enumerate(blocks):
        _gpu(reading, index, address, block)
    for number, line in strange[:20]:
        reading.note("malformed", "not a line of nvidia-smi -q", line=number, verbatim=line)
    node.values["gpu_count"] = len(blocks)
    attached = node.values.get("attached_gpus")
    if isinstance(attached, int) and attached != len(blocks):
        code = "truncated" if attached > len(blocks) else "inconsistent"
        reading.note(code, f"the driver says {attached} GPUs, and {len(blocks)} are listed")
    return reading


class _Block:
    """The lines of one GPU, by the path of their labels."""

    def __init__(self) -> None:
        self.values: _Values = {}
        self.processes: list[str] = []
        self.migs: list[_Values] = []
        self._stack: list[tuple[int, str]] = []
        self._group = ""

    def add(self, line: str, number: int) -> bool:
        """Keep a line; return whether it is one of this format."""
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        pair = _PAIR.match(stripped)
        label = (pair.group(1) if pair else stripped).lower()
        if not pair and not re.match(r"^[A-Za-z][A-Za-z0-9 ./()-]{1,60}$", stripped):
            return False
        while self._stack and self._stack[-1][0] >= indent:
            self._stack.pop()
        self._stack.append((indent, label))
        path = "/".join(one for _indent, one in self._stack)
        value = ((pair.group(2) if pair else None) or "").strip()
        self._keep(path, label, value if pair else None, number)
        return True

    def _keep(self, path: str, label: str, value: str | None, number: int) -> None:
        top = path.partition("/")[0]
        if top == "processes":
            if label == "process id":
                self.processes.append(value or "")
            elif path == "processes" and value is not None:
                self.values["processes"] = (value, number)
        elif top in ("mig device", "mig devices"):
            if label == "mig device" or (label == "index" and path.count("/") == 1):
                if label == "index" and self.migs and "index" not in self.migs[-1]:
                    self.migs[-1]["index"] = (value or "", number)
                else:
                    first = {"index": (value, number)} if label == "index" and value else {}
                    self.migs.append(first)
            elif self.migs and value is not None:
                self.migs[-1].setdefault(path.partition("/")[2], (value, number))
        elif value is not None:
            self.values.setdefault(path, (value, number))


def _blocks(
    text: str,
) -> tuple[_Values, list[tuple[str, _Block]], list[tuple[int, str]]]:
    """Return what stands before the GPUs, each GPU with its lines, and what is none of these."""
    top: _Values = {}
    blocks: list[tuple[str, _Block]] = []
    strange: list[tuple[int, str]] = []
    for number, line in numbered_lines(text.replace("\t", "    ")):
        found = _GPU.match(line.strip())
        if not line.strip() or _SEPARATOR.match(line.strip()):
            continue
        if found and len(blocks) < _MAX_GPUS:
            blocks.append((found.group(1), _Block()))
        elif blocks and line[:1] == " ":
            if not blocks[-1][1].add(line, number):
                strange.append((number, line.strip()))
        else:
            pair = _PAIR.match(line.strip())
            if pair:
                top.setdefault(pair.group(1).lower(), ((pair.group(2) or "").strip(), number))
            elif top or blocks:  # before the head stands the shell's prompt, or a person's words
                strange.append((number, line.strip()))
    return top, blocks, strange


def _of_node(reading: Reading, node: Entity, top: _Values) -> None:
    for name, labels in (
        ("driver_version", ("kmd version", "driver version")),
        ("cuda_version", ("cuda umd version", "cuda version")),
    ):
        found = [top[label] for label in labels if label in top]
        if not found:
            continue
        word, number = _DEPRECATED.sub("", found[0][0])[:_MAX_TEXT], found[0][1]
        missing = absence(word) or (None if word else "not_supported")
        node.values[name] = None if missing else word
        if missing:
            node.notes[name] = missing
        if missing == "unreadable":
            says = f"{name} could not be found out"
            reading.note("unreadable_value", says, line=number, field=name, verbatim=word)
    driver = node.values.get("driver_version")
    reading.tool_version = driver if isinstance(driver, str) else None
    if "attached gpus" in top:
        node.values["attached_gpus"] = _small(top["attached gpus"][0])


def _gpu(reading: Reading, index: int, address: str, block: _Block) -> None:
    entity = Entity(f"gpu:{index}")
    values = block.values
    entity.ids = {
        "pci": pci_address(address),
        "uuid": _identity(values.get("gpu uuid")),
        "serial": serial(_identity(values.get("serial number")) or ""),
    }
    unreadable = []
    for value in VALUES:
        found = [values[place] for place in PLACES.get(value.name, ()) if place in values]
        kept, note, number = _first(value, found)
        if found:
            entity.values[value.name] = kept
        if note:
            entity.notes[value.name] = note
        if note == "unreadable":
            unreadable.append((value.name, number))
        elif note == "verbatim":
            where = {"line": number, "entity": entity.path, "field": value.name}
            says = "not a value that is known"
            reading.note("unknown_value", says, verbatim=str(kept), **where)
    _counts(entity, block)
    if unreadable:
        names = ", ".join(name for name, _line in unreadable[:6])
        rest = f" and {len(unreadable) - 6} more" if len(unreadable) > 6 else ""
        where = {"line": unreadable[0][1], "entity": entity.path, "field": unreadable[0][0]}
        says = f"{entity.path} did not answer for {names}{rest}"
        reading.note("unreadable_value", says, **where)
    reading.add(entity)
    for position, mig in enumerate(block.migs):
        _mig(reading, entity, position, mig)


def _first(value: Value, found: list[tuple[str, int]]) -> tuple[t.Any, str | None, int]:
    """Return value, note and line: of an old and a new place the first that holds something."""
    answer: tuple[t.Any, str | None, int] = (None, None, 0)
    for text, number in found:
        answer = (*convert(value, text[:_MAX_TEXT]), number)
        if answer[1] != "not_supported":
            break
    return answer


def _counts(entity: Entity, block: _Block) -> None:
    said = block.values.get("processes", ("", 0))[0].lower()
    if block.processes:
        entity.values["process_count"] = len(block.processes)
    elif said:
        # "N/A" there means that this user, or a container, may not see them.
        entity.values["process_count"] = 0 if said == "none" else None
    if "minor number" in block.values:
        entity.values["minor_number"] = _small(block.values["minor number"][0])
    if "mig mode/current" in block.values:
        entity.values["mig_device_count"] = len(block.migs)


def _mig(reading: Reading, gpu: Entity, position: int, mig: _Values) -> None:
    index = _small(mig.get("index", ("", 0))[0])
    entity = Entity(f"{gpu.path}/mig:{position if index is None else index}")
    memory = mig.get("fb memory usage/total", ("", 0))[0]
    entity.values = {
        "gpu_instance_id": _small(mig.get("gpu instance id", ("", 0))[0]),
        "compute_instance_id": _small(mig.get("compute instance id", ("", 0))[0]),
        "memory_total_mib": _small(memory.replace("MiB", "")),
    }
    reading.add(entity)


def _small(text: str) -> int | None:
    word = text.strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None


def _identity(found: tuple[str, int] | None) -> str | None:
    word = found[0].strip()[:_MAX_TEXT] if found else ""
    return word if word and not absence(word) else None
