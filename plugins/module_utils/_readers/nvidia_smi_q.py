# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the text of `nvidia-smi -q`, whole or of some sections (-d).

Format: `Label : value` lines below `GPU <bus id>`, nested by four blanks; a label may
have a value and lines below it (HW Slowdown). Values have the names that the reader of
the XML gives them. Driver 610 puts a deprecation into the values of Driver Version and
CUDA Version. Text has no end mark: what is missing shows in the count, in a last line
that is not whole, and in a whole query without its processes. Parts are read, too: a
section without the line of its GPU, what grep left. Seen: driver 510 to 610, Linux and
Windows, guests of vGPU. Without an output at hand, by the XML and the manual: the lines
of a MIG device, and the newest names of limits (GPU Shutdown T.Limit Temp Specification).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_blocks,
    _nvidia_fill,
    _nvidia_text,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_blocks import (
    Block,
    Found,
    Values,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    FIELDS as GPU_FIELDS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_labels import (
    MIG_PLACES,
    PLACES,
    PROCESS_PLACES,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence, decode

KIND = "nvidia-smi-q"
TITLE = "nvidia-smi -q: the state of the GPUs, as text"
VERSIONS = "driver 510 to 610"
SOURCES = ("https://docs.nvidia.com/deploy/nvidia-smi/", "nvidia-smi(1)")
PROVEN = True
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "cuda_version": Field(str, "newest CUDA that this driver serves"),
        "attached_gpus": Field(int, "GPUs that the driver says it has"),
        "gpu_count": Field(int, "GPUs in the output"),
    },
    **GPU_FIELDS,
}
_DEPRECATED = re.compile(r"^Deprecated\b.*|\s*\[Deprecated.*$", re.IGNORECASE)
_GPU_LINE = re.compile(
    r"(?m)(?:^|[\s>|\x1b:m])GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
    r"(?:\x1b\[[0-9;]{0,8}m)?\s*$"
)
# Labels that no other tool prints so; what reads as one of them may be a part of this output.
_OWN_LABEL = re.compile(
    r"(?m)(?:Remapping Failure Occurred|Bank Remap Availability Histogram|Clocks (?:Event|Throttle)"
    r" Reasons|Retired Pages|Pending Page Blacklist|GPU Current Temp|GPU Recovery Action"
    r"|GPU Link Info|GPU Power Readings|FB Memory Usage|BAR1 Memory Usage|GPU Reset Status"
    r"|ClusterUUID|CliqueId|GPU Virtualization Mode|GPU UUID|Product Architecture"
    r"|vGPU Software Licensed Product|SRAM Uncorrectable|SRAM Threshold Exceeded|ECC Errors"
    r"|Channel Repair Pending|Unrepairable Memory|VBIOS Version|Persistence Mode"
    r"|Instantaneous Power Draw|Replays Since Reset)[ \t]*(?::[ \t]|$|\r)"
)
_PROCESS = frozenset(("process id", "type", "name", "used gpu memory"))
_WHOLE = 40  # labels of the first level; a query of all sections has more in each driver
_MAX_TEXT = 200


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if "<nvidia_smi_log" in text:
        return 0
    if _nvidia_blocks.HEAD.search(text):
        return 97
    if not _OWN_LABEL.search(text):
        return 0
    if _GPU_LINE.search(text):
        return 90
    found = _nvidia_blocks.scan(text, Reading(KIND))
    known = sum(_known(block) for block in found.blocks)
    foreign = sum(len(block.values) for block in found.blocks) - known
    if not known or foreign > 3 * known:
        return 0
    return 75 if known > 1 else 60


def read(data: Data) -> Reading:
    """Read the output. Entities: "", `gpu:N` in its order, `gpu:N/mig:M`, `gpu:N/process:<pid>`."""
    text = decode(data)
    reading = Reading(KIND, tool_name="nvidia-smi")
    found = _nvidia_blocks.scan(text, reading)
    blocks = [one for one in found.blocks if one.address or _known(one)]
    if not blocks and not any("attached gpus" in head for head in found.heads):
        wanted = "`Attached GPUs`, `GPU <bus id>` or a section of a GPU"
        return _nvidia_text.nothing(reading, wanted, text)
    node = reading.add(Entity(""))
    _of_node(reading, node, found.heads)
    gpus = _merged(reading, blocks)
    is_cut = bool(gpus) and _is_cut(node, found, gpus, text)
    if is_cut and not text.endswith("\n"):
        gpus[-1].forget(found.last_line)
    for index, block in enumerate(gpus):
        _gpu(reading, index, block)
    node.values["gpu_count"] = len(gpus)
    _completeness(reading, node, found, gpus)
    if is_cut:
        reading.note("truncated", "the text ends within a GPU")
    return reading


def _known(block: Block) -> int:
    """Return how many lines of a block have a name here."""
    values = sum(place in block.values for places in PLACES.values() for place in places)
    return values + len(block.migs) + ("gpu uuid" in block.values)


def _of_node(reading: Reading, node: Entity, heads: list[Values]) -> None:
    head = heads[0] if heads else {}
    for name, labels in (
        ("driver_version", ("kmd version", "driver version")),
        ("cuda_version", ("cuda umd version", "cuda version")),
    ):
        words = [(_DEPRECATED.sub("", head[label][0]), head[label][1]) for label in labels
                 if label in head]  # fmt: skip
        if not words:
            continue
        word, number = next((one for one in words if one[0]), words[0])
        word = word[:_MAX_TEXT].strip()
        missing = absence(word) or (None if word else "not_supported")
        node.values[name] = None if missing else word
        if missing:
            node.notes[name] = missing
        if missing == "unreadable":
            says = f"{name} could not be found out"
            _plain.note(reading, "unreadable_value", says, line=number, field=name, verbatim=word)
    driver = node.values.get("driver_version")
    reading.tool_version = driver if isinstance(driver, str) else None
    if "attached gpus" in head:
        node.values["attached_gpus"] = _small(head["attached gpus"][0])


def _merged(reading: Reading, blocks: list[Block]) -> list[Block]:
    """Join the sections of one GPU that stand in several outputs; of samples the first is kept."""
    gpus: list[Block] = []
    known: dict[str, Block] = {}
    again = others = 0
    for block in blocks:
        address = pci_address(block.address or block.look("pci/bus id") or "")
        first = known.get(address) if address else None
        if first is None:
            gpus.append(block)
            if address:
                known[address] = block
            continue
        same = all(
            first.identity(label) in (None, block.identity(label)) or not block.identity(label)
            for label in ("gpu uuid", "serial number")
        )
        if not same:
            others += 1
            continue
        again += any(first.look(path) not in (None, one[0]) for path, one in block.values.items())
        for path, one in block.values.items():
            first.values.setdefault(path, one)
        first.tops += [top for top in block.tops if top not in first.tops]
        first.processes = first.processes or block.processes
        first.migs = first.migs or block.migs
    if again:
        _plain.note(reading, "limited", "the GPUs come again; the first sample of each is kept")
    if others:
        says = f"{others} GPUs have the bus id of another with another identity; they are not kept"
        _plain.note(reading, "inconsistent", says)
    return gpus


def _gpu(reading: Reading, index: int, block: Block) -> None:
    entity = Entity(f"gpu:{index}")
    entity.ids = {
        "pci": pci_address(block.address or block.look("pci/bus id") or ""),
        "uuid": block.identity("gpu uuid"),
        "serial": serial(block.identity("serial number") or ""),
    }

    def line_of(place: str) -> int | None:
        return block.values[place][1] if place in block.values else None

    _nvidia_fill.gpu(reading, entity, block.look, PLACES, line_of)
    _counts(entity, block)
    reading.add(entity)
    for position, mig in enumerate(block.migs):
        number = _small(mig.get("index", ("", 0))[0])
        device = Entity(f"{entity.path}/mig:{position if number is None else number}")
        _nvidia_fill.mig(reading, device, _look_in(mig), MIG_PLACES)
    _nvidia_fill.processes(reading, entity, map(_look_in, _processes(block)), PROCESS_PLACES)


def _look_in(values: Values) -> _nvidia_fill.Look:
    return lambda place: values[place][0] if place in values else None


def _processes(block: Block) -> list[Values]:
    """Return the processes; one of which a line was lost is still one."""
    return [one for one in block.processes if _PROCESS.intersection(one)]


def _counts(entity: Entity, block: Block) -> None:
    said = (block.look("processes") or "").lower()
    if _processes(block):
        entity.values["process_count"] = len(_processes(block))
    elif said:
        # "N/A" there means that this user, or a container, may not see them.
        entity.values["process_count"] = 0 if said == "none" else None
    if "minor number" in block.values:
        entity.values["minor_number"] = _small(block.look("minor number") or "")
    if block.migs or "mig mode/current" in block.values:
        entity.values["mig_device_count"] = len(block.migs)


def _completeness(reading: Reading, node: Entity, found: Found, gpus: list[Block]) -> None:
    """Say what is missing: GPUs, the lines of them, the beginning, the end."""
    attached = node.values.get("attached_gpus")
    of_first = sum(one.output == gpus[0].output for one in gpus) if gpus else 0
    if isinstance(attached, int) and attached != of_first and not found.is_selected:
        code = "truncated" if attached > of_first else "inconsistent"
        reading.note(code, f"the driver says {attached} GPUs, and {of_first} are listed")
    elif "attached gpus" in (found.heads[0] if found.heads else {}) and attached is None:
        where = {"line": found.heads[0]["attached gpus"][1], "field": "attached_gpus"}
        says = "`Attached GPUs` is no number"
        reading.note("unknown_value", says, verbatim=found.heads[0]["attached gpus"][0], **where)
    elif attached is None:
        reading.note("truncated", "`Attached GPUs : <n>` is missing: there may be more GPUs")
    if any(not _PROCESS.issubset(one) for gpu in gpus for one in _processes(gpu)):
        says = "of a process the id, the type, the name or the memory is missing"
        reading.note("missing_value", says, field="process_count")
    unnamed = sum(one.address is None for one in gpus)
    if unnamed:
        says = f"{unnamed} GPUs come without their line `GPU <bus id>`; they are counted from 0"
        reading.note("missing_value", says, field="pci")
    if found.is_elided:
        reading.note("truncated", "somebody left lines out here")


def _is_cut(node: Entity, found: Found, gpus: list[Block], text: str) -> bool:
    """Tell whether lines are missing at the end; then the last may have lost its own end."""
    attached = node.values.get("attached_gpus")
    few = isinstance(attached, int) and attached > len(gpus) and not found.is_selected
    is_open = not text.endswith("\n")
    if (few and is_open) or found.is_cut:
        return True
    last = gpus[-1]
    if last.processes and "used gpu memory" not in last.processes[-1]:
        return True
    # A query of all sections begins with the name, and has the processes at its end.
    has_end = "product name" not in last.tops or "processes" in last.tops
    is_whole = len(last.tops) >= _WHOLE or "accounting mode buffer size" in last.tops
    if not has_end and (is_open or is_whole):
        return True
    before = list(gpus[-2].values) if len(gpus) > 1 else []
    have = list(last.values)
    return len(have) < len(before) and have == before[: len(have)] and last.tops != gpus[-2].tops


def _small(text: str) -> int | None:
    word = text.strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None
