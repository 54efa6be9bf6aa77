# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `rocm-smi -a --json` and of parts of it.

Every value is a text, under a title that changes between ROCm releases
(`Average Graphics Package Power (W)`, then `Current Socket Graphics Package
Power (W)`); a missing one is `N/A`, also with a remark (`N/A (Secondary die)`).
Versions: ROCm 4.3 to 6.4.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence

KIND = "rocm-smi-json"
TITLE = "AMD GPUs by rocm-smi, JSON"
VERSIONS = "rocm-smi of ROCm 4.3 to 6.4"
SOURCES = ("https://github.com/ROCm/rocm_smi_lib",)
PROVEN = True

# (value name, titles in lower case, type, what it says, unit)
_Row = t.Tuple[str, t.Tuple[str, ...], type, str, t.Optional[str]]
_ROWS: tuple[_Row, ...] = (
    ("name", ("card series", "device name", "card model"), str, "name", None),
    ("device_id", ("device id", "gpu id"), str, "PCI device", None),
    ("gfx_version", ("gfx version",), str, "instruction set, such as gfx942", None),
    ("vbios_version", ("vbios version",), str, "VBIOS", None),
    ("edge_temperature_c", ("temperature (sensor edge) (c)",), float, "edge", "°C"),
    ("temperature_c", ("temperature (sensor junction) (c)",), float, "hot spot", "°C"),
    ("memory_temperature_c", ("temperature (sensor memory) (c)",), float, "memory", "°C"),
    (
        "power_draw_w",
        (
            "current socket graphics package power (w)",
            "average graphics package power (w)",
            "average socket graphics package power (w)",
        ),
        float,
        "power",
        "W",
    ),
    ("power_limit_w", ("max graphics package power (w)",), float, "limit", "W"),
    ("pcie_replay_count", ("pcie replay count",), int, "PCIe replays", None),
    ("utilization_gpu_pct", ("gpu use (%)",), float, "graphics core", "%"),
    (
        "utilization_memory_pct",
        ("gpu memory read/write activity (%)", "gpu memory use (%)"),
        float,
        "memory",
        "%",
    ),
    ("memory_total_b", ("vram total memory (b)",), int, "VRAM", "B"),
    ("memory_used_b", ("vram total used memory (b)",), int, "VRAM in use", "B"),
    ("performance_level", ("performance level",), str, "auto, high, low, manual ...", None),
    ("memory_partition", ("memory partition",), str, "NPS1, NPS4 ...", None),
    ("compute_partition", ("compute partition",), str, "SPX, CPX ...", None),
    ("numa_node", ("(topology) numa node",), int, "NUMA node", None),
)
FIELDS = {
    "node": {
        "gpu_count": Field(int, "cards"),
        "driver_version": Field(str, "amdgpu driver, or the kernel where it is the kernel's own"),
    },
    "gpu": {
        **{name: Field(kind, says, unit) for name, _titles, kind, says, unit in _ROWS},
        "pcie_speed_gt_s": Field(float, "speed of a lane now", "GT/s"),
        "pcie_width": Field(int, "lanes now"),
        "graphics_clock_mhz": Field(int, "graphics clock now", "MHz"),
        "memory_clock_mhz": Field(int, "memory clock now", "MHz"),
        "not_supported_count": Field(int, "values that are N/A, of all that this card shows"),
    },
}
_CARD = re.compile(r"^card([0-9]{1,4})$")
_PCIE = re.compile(r"^[0-9]{1,3} \(([0-9.]{1,6})GT/s x([0-9]{1,2})\)$")
_CLOCK = re.compile(r"^(?:[0-9]{1,3} )?\(([0-9]{1,6})Mhz\)$", re.IGNORECASE)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 95 if re.search(r'(?m)^\s*\{?\s*"card[0-9]{1,4}"\s*:\s*\{', text) else 0


def read(data: Data) -> Reading:
    """Read one document; entities `gpu:N` (card N) and the node."""
    reading = Reading(KIND)
    document = _json.as_dict(_json.load(data, reading))
    cards = [(key, _CARD.match(key), body) for key, body in document.items()]
    gpus = [(int(card.group(1)), body) for _key, card, body in cards if card]
    if not gpus:
        if not reading.problems:
            reading.note("other_format", "no card in this document")
        reading.quality = UNREADABLE
        return reading
    system = _lower(document.get("system"))
    node = reading.add(Entity("", values={"gpu_count": len(gpus)}))
    node.values["driver_version"] = _json.text_of(system.get("driver version"))
    for index, body in gpus:
        entity = reading.add(Entity(f"gpu:{index}"))
        _fill(reading, entity, _lower(body))
    return reading


def _lower(body: t.Any) -> dict[str, t.Any]:
    pairs = _json.as_dict(body).items()
    return {" ".join(key.lower().rstrip(":").split()): value for key, value in pairs}


def _fill(reading: Reading, entity: Entity, body: dict[str, t.Any]) -> None:
    for name, titles, kind, _says, _unit in _ROWS:
        texts = [_json.text_of(body[one]) for one in titles if one in body]
        if not texts:
            continue
        known = [one for one in texts if one and not _is_absent(one)]
        entity.values[name] = _convert(kind, known[0]) if known else None
        if not known:
            entity.notes[name] = "not_supported"
        elif entity.values[name] is None:
            entity.notes[name] = "unreadable"
            reading.note(
                "unreadable_value",
                f"{name} is not a number",
                entity=entity.path,
                field=name,
                verbatim=known[0],
            )
    _links(entity, body)
    entity.ids["pci"] = _identity.pci_address(_json.text_of(body.get("pci bus")))
    entity.ids["serial"] = _identity.serial(_json.text_of(body.get("serial number")))
    unique = _json.text_of(body.get("unique id"))
    entity.ids["uuid"] = unique.lower() if unique and not _is_absent(unique) else None
    values = [_json.text_of(one) for one in body.values()]
    entity.values["not_supported_count"] = sum(one is not None and _is_na(one) for one in values)


def _links(entity: Entity, body: dict[str, t.Any]) -> None:
    pcie = _PCIE.match(_json.text_of(body.get("pcie clock level")) or "")
    if pcie:
        entity.values["pcie_speed_gt_s"] = _json.number_of(pcie.group(1))
        entity.values["pcie_width"] = int(pcie.group(2))
    for title, name in (("sclk", "graphics_clock_mhz"), ("mclk", "memory_clock_mhz")):
        clock = _CLOCK.match(_json.text_of(body.get(f"{title} clock speed")) or "")
        if clock:
            entity.values[name] = int(clock.group(1))


def _is_na(text: str) -> bool:
    return text.lower().startswith("n/a")


def _is_absent(text: str) -> bool:
    return _is_na(text) or absence(text) is not None or text.lower() == "unsupported"


def _convert(kind: type, text: str) -> t.Any:
    if kind is str:
        return text
    return _json.integer_of(text) if kind is int else _json.number_of(text)
