# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi -q -x`: everything that the driver tells of its GPUs.

Format: XML by nvsmi_device_vN.dtd (N = 4 to 13; 12 up to driver 570, 13 from 580).
A GPU that does not answer has its elements, with `[Unknown Error]`, `GPU requires
reset` or the like in them. Output that was cut gives the GPUs that were whole,
and no count. Seen: driver 418 to 620.
"""

from __future__ import annotations

import re
import typing as t
import xml.etree.ElementTree as ET  # entities are refused below

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _nvidia_fill
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    FIELDS as GPU_FIELDS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
    failed,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    UNREADABLE as UNREADABLE_WORDS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence, decode

KIND = "nvidia-smi-xml"
TITLE = "nvidia-smi -q -x: the whole state of the GPUs"
VERSIONS = "driver 418 to 620, DTD v4 to v13"
SOURCES = ("https://docs.nvidia.com/deploy/nvidia-smi/", "nvsmi_device_v12.dtd and v13.dtd")
PROVEN = True
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "cuda_version": Field(str, "newest CUDA that this driver serves"),
        "attached_gpus": Field(int, "GPUs that the driver says it has"),
        "gpu_count": Field(int, "GPUs in the output; null where it was cut"),
        "dtd_version": Field(int, "version of the format"),
    },
    **GPU_FIELDS,
}
_MAX_TEXT = 200
_START = re.compile(r"<\?xml|<!DOCTYPE nvidia_smi_log|<nvidia_smi_log")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 98 if "<nvidia_smi_log>" in text or "nvsmi_device_v" in text else 0


def read(data: Data) -> Reading:
    """Read the output. Entities: "", `gpu:N` in its order, `gpu:N/mig:M`, `gpu:N/process:<pid>`."""
    text = decode(data)
    start = _START.search(text)
    if start is None:
        return failed(KIND, UNREADABLE, "other_format", "no XML of nvidia-smi in it")
    if "<!ENTITY" in text:
        says = "it defines entities, which nvidia-smi never does"
        return failed(KIND, UNREADABLE, "other_format", says)
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = reading.add(Entity(""))
    version = re.search(r"nvsmi_device_v([0-9]{1,3})\.dtd", text)
    node.values["dtd_version"] = int(version.group(1)) if version else None
    is_whole = _parse(text[start.start() :], reading, node)
    return _finish(reading, node, is_whole)


def _parse(text: str, reading: Reading, node: Entity) -> bool:
    """Read element by element, so that what stands before a cut is kept.

    Return whether all came.
    """
    parser: ET.XMLPullParser[t.Any] = ET.XMLPullParser(("start", "end"))
    depth, count, is_whole = 0, 0, False
    try:
        for offset in range(0, len(text), 65_536):
            parser.feed(text[offset : offset + 65_536])
            for one in parser.read_events():
                event, element = t.cast("tuple[str, ET.Element]", one)
                depth += 1 if event == "start" else -1
                if event == "start":
                    continue
                is_whole = is_whole or (depth == 0 and element.tag == "nvidia_smi_log")
                if depth != 1:
                    continue
                if element.tag == "gpu":
                    _gpu(reading, count, element)
                    count += 1
                else:
                    _of_node(reading, node, element)
                element.clear()
    except ET.ParseError as error:
        if not is_whole:
            line = error.position[0] if error.position else None
            reading.note("truncated", "the XML is not well-formed from here on", line=line)
    return is_whole


def _of_node(reading: Reading, node: Entity, element: ET.Element) -> None:
    text = (element.text or "").strip()[:_MAX_TEXT]
    if element.tag in ("driver_version", "cuda_version"):
        missing = absence(text) or (None if text else "not_supported")
        node.values[element.tag] = None if missing else text
        if missing:
            node.notes[element.tag] = missing
        if missing == "unreadable":
            reading.note(
                "unreadable_value",
                f"{element.tag} could not be found out",
                field=element.tag,
                verbatim=text,
            )
        if element.tag == "driver_version" and not missing:
            reading.tool_version = text
    elif element.tag == "attached_gpus":
        known = text.isascii() and text.isdigit() and len(text) < 6
        node.values["attached_gpus"] = int(text) if known else None


def _gpu(reading: Reading, index: int, element: ET.Element) -> None:
    entity = Entity(f"gpu:{index}")
    entity.ids = {
        "pci": pci_address(element.get("id") or element.findtext("pci/pci_bus_id") or ""),
        "uuid": _identity(element.findtext("uuid")),
        "serial": serial(_identity(element.findtext("serial")) or ""),
    }
    _nvidia_fill.gpu(reading, entity, element.findtext)
    _counts(entity, element)
    reading.add(entity)
    _migs(reading, entity, element)
    processes = element.findall("processes/process_info")
    _nvidia_fill.processes(reading, entity, (one.findtext for one in processes))


def _counts(entity: Entity, element: ET.Element) -> None:
    processes = element.find("processes")
    said = (processes.text or "").strip().lower() if processes is not None else "n/a"
    # "N/A" there means that this user, or a container, may not see them.
    known = processes is not None and said not in ("n/a", *UNREADABLE_WORDS)
    entity.values["process_count"] = len(processes) if known and processes is not None else None
    minor = (element.findtext("minor_number") or "").strip()
    is_number = minor.isascii() and minor.isdigit() and len(minor) < 6
    entity.values["minor_number"] = int(minor) if is_number else None


def _migs(reading: Reading, gpu: Entity, element: ET.Element) -> None:
    devices = element.findall("mig_devices/mig_device")
    gpu.values["mig_device_count"] = len(devices)
    for position, device in enumerate(devices):
        index = _small(device.findtext("index"))
        entity = Entity(f"{gpu.path}/mig:{position if index is None else index}")
        _nvidia_fill.mig(reading, entity, device.findtext)


def _small(text: str | None) -> int | None:
    word = (text or "").strip()
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None


def _identity(text: str | None) -> str | None:
    word = (text or "").strip()[:_MAX_TEXT]
    return word if word and not absence(word) else None


def _finish(reading: Reading, node: Entity, is_whole: bool) -> Reading:
    gpus = [one for one in reading.entities if re.match(r"gpu:[0-9]+$", one.path)]
    if not is_whole and not reading.problems:
        reading.note("truncated", "the XML ends before </nvidia_smi_log>")
    if not is_whole and not gpus:
        reading.quality = UNREADABLE
    node.values["gpu_count"] = len(gpus) if is_whole else None
    attached = t.cast("int | None", node.values.get("attached_gpus"))
    if is_whole and attached is not None and attached != len(gpus):
        reading.note("inconsistent", f"the driver says {attached} GPUs, and {len(gpus)} are listed")
    return reading
