# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi nvlink`: state of the links (-s) and their errors (-e), text and JSON.

Formats: `gpuId 0:` and a letter a link below it (U up, D down, X disabled, _ not there);
a table of error counts below `GPU 1`; and its JSON, in which numbers are texts. Versions:
DCGM 2.0 to 4.7. Source: dcgmi(8), nvlink; NVIDIA/DCGM dcgmi/Nvlink.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "dcgmi-nvlink"
TITLE = "dcgmi nvlink: links of each GPU"
VERSIONS = "DCGM 2.0 to 4.7"
SOURCES = ("dcgmi(8), nvlink", "https://github.com/NVIDIA/DCGM dcgmi/Nvlink.cpp")
PROVEN = True
_LETTERS = {"U": "up", "D": "down", "X": "disabled", "_": "not_supported"}
_ERRORS = {
    "crc flit error": "crc_flit_errors",
    "crc data error": "crc_data_errors",
    "replay error": "replay_errors",
    "recovery error": "recovery_errors",
    "symbol error": "symbol_errors",
    "effective error": "effective_errors",
}
FIELDS = {
    "node": {"gpu_count": Field(int, "GPUs that are told of")},
    "gpu": {
        "nvlink_up_count": Field(int, "links that are up; null where state is not told"),
        "nvlink_down_count": Field(int, "links that are down"),
        "nvlink_disabled_count": Field(int, "links that are switched off"),
        "nvlink_count": Field(int, "links that the GPU has: up, down and disabled"),
    },
    "nvswitch": {"nvlink_up_count": Field(int, "links that are up")},
    "nvlink": {
        "state": Field(str, "state", values=tuple(_LETTERS.values())),
        **{name: Field(int, f"{label}s") for label, name in _ERRORS.items()},
        "counters": Field(dict, "all counters by the name that is printed"),
    },
}
_OWNER = re.compile(r"^(gpuId|physicalId|switchId|nvswitchId|NvSwitch) ([0-9]{1,5}):?$")
_STATES = re.compile(r"^[UDX_](?: [UDX_]){0,143}$")
_GPU = re.compile(r"\bGPU ([0-9]{1,4})\b")
_LINK = re.compile(r"^Link ([0-9]{1,3})$")
_ROW = re.compile(r"^\|\s*(.{1,60}?)\s*\|\s*(\S*)\s*\|$")
_WIDE = re.compile(r"^\|\s*([^|]{1,100}?)\s*\|$")
_NOISE = re.compile(
    r"^(?:\+[-=+]*\+?|GPUs:|NvSwitches:|No NvSwitches found\.?|Key: .*"
    r"|(?:\S*[$#] )?dcgmi nvlink\b.*)$"
)
_JSON_KEY = re.compile(r'"NVLINK Error Counts"')


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if _JSON_KEY.search(head) or re.search(r"(?m)^\|\s*NVLINK Error Counts\s*\|", head):
        return 97
    return 95 if re.search(r"(?m)^\s*gpuId [0-9]+:\n\s+[UDX_](?: [UDX_])*\s*$", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `gpu:N`, `gpu:N/nvlink:L`, `nvswitch:N/nvlink:L`."""
    reading = Reading(KIND, tool_name="dcgmi")
    if decode(data).lstrip().startswith("{"):
        _document(reading, data)
    else:
        _lines(reading, data)
    if not reading.entities:
        if not reading.problems:
            reading.note("other_format", "neither `gpuId N:` nor `NVLINK Error Counts`")
        reading.quality = UNREADABLE
        return reading
    gpus = [one for one in reading.entities if re.match(r"^gpu:[0-9]+$", one.path)]
    reading.entities.insert(0, Entity("", values={"gpu_count": len(gpus)}))
    return reading


def _entity(reading: Reading, path: str) -> Entity:
    return reading.entity(path) or reading.add(Entity(path))


def _lines(reading: Reading, data: Data) -> None:
    owner: Entity | None = None
    link: Entity | None = None
    for number, line in _plain.lines(data):
        word = line.strip()
        found, row, wide = _OWNER.match(word), _ROW.match(word), _WIDE.match(word)
        if found:
            sort = "gpu" if found.group(1) == "gpuId" else "nvswitch"
            owner = _entity(reading, f"{sort}:{int(found.group(2))}")
        elif owner is not None and _STATES.match(word):
            _states(reading, owner, word.split())
        elif row:
            link = _row(reading, owner, link, (row.group(1), row.group(2)), number)
        elif wide and _GPU.search(wide.group(1)):
            gpu = _GPU.search(wide.group(1))
            owner = _entity(reading, f"gpu:{int(gpu.group(1))}") if gpu else owner
        elif not wide and not _NOISE.match(word):
            _plain.malformed(reading, number, line, "a line of dcgmi nvlink")


def _states(reading: Reading, owner: Entity, letters: list[str]) -> None:
    for index, letter in enumerate(letters):
        link = _entity(reading, f"{owner.path}/nvlink:{index}")
        link.values["state"] = _LETTERS[letter]
    owner.values["nvlink_up_count"] = letters.count("U")
    if owner.path.startswith("gpu:"):
        owner.values["nvlink_down_count"] = letters.count("D")
        owner.values["nvlink_disabled_count"] = letters.count("X")
        owner.values["nvlink_count"] = len(letters) - letters.count("_")


def _row(
    reading: Reading, owner: Entity | None, link: Entity | None, row: tuple[str, str], number: int
) -> Entity | None:
    """Read a row of the table of errors; return the link that the next rows are of."""
    label, word = row
    start = _LINK.match(label)
    if owner is None:
        _plain.malformed(reading, number, label, "a row below `GPU N`")
    elif start:
        return _entity(reading, f"{owner.path}/nvlink:{int(start.group(1))}")
    elif link is not None and label.startswith("->"):
        _error(reading, link, label[2:].strip(), word, number)
    return link


def _error(reading: Reading, link: Entity, name: str, word: str, number: int | None) -> None:
    value = int(word) if re.match(r"^[0-9]{1,20}$", word) else None
    if value is None and word not in ("N/A", "Not Supported", "-", ""):
        where = {"line": number, "entity": link.path, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} is no whole number", **where)
    counters = link.values.setdefault("counters", {})
    if isinstance(counters, dict) and len(counters) < 64:
        counters[name] = value
    known = _ERRORS.get(name.lower())
    if known:
        link.values[known] = value


def _document(reading: Reading, data: Data) -> None:
    document = _json.as_dict(_json.load(data, reading))
    header = document.get("header")
    titles = " ".join(str(one) for one in header[:8]) if isinstance(header, list) else ""
    found = _GPU.search(titles)
    body = _json.as_dict(document.get("body"))
    if found is None:
        if body:
            _plain.note(reading, "missing_value", "the header names no GPU")
        return
    gpu = _entity(reading, f"gpu:{int(found.group(1))}")
    for name, one in body.items():
        start = _LINK.match(name)
        if not start:
            continue
        link = _entity(reading, f"{gpu.path}/nvlink:{int(start.group(1))}")
        for label, counted in _json.as_dict(_json.as_dict(one).get("children")).items():
            word = _json.text_of(_json.as_dict(counted).get("value")) or ""
            _error(reading, link, label, word, None)
