# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi nvlink`: state of the links (-s) and their errors (-e), text and JSON.

Formats: `gpuId 0:` and a letter a link below it (U up, D down, X disabled, _ not there), NvSwitches
by their `physicalId`; a table of error counts below `GPU 1`, by link, from Blackwell on for the
GPU as a whole (`Error Detail`); and its JSON, in which numbers are texts. Versions: DCGM 2.0
to 4.7. Source: dcgmi(8), nvlink; NVIDIA/DCGM dcgmi/Nvlink.cpp.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_text,
    _json,
    _json_docs,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
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
_COUNTS = {
    "nvlink_up_count": Field(int, "links that are up; null where state is not told"),
    "nvlink_down_count": Field(int, "links that are down"),
    "nvlink_disabled_count": Field(int, "links that are switched off"),
    "nvlink_count": Field(int, "links that it has: up, down and disabled"),
}
_COUNTERS = {
    **{name: Field(int, f"{label}s") for label, name in _ERRORS.items()},
    "counters": Field(dict, "all counters by the name that is printed"),
}
FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs that are told of"),
        "nvswitch_count": Field(int, "switches that are told of; null where they are not"),
    },
    "gpu": {**_COUNTS, **_COUNTERS},
    "nvswitch": dict(_COUNTS),
    "nvlink": {"state": Field(str, "state", values=tuple(_LETTERS.values())), **_COUNTERS},
}
_OWNER = re.compile(
    r"^(gpuId|physicalId|switchId|nvswitchId|NvSwitch) ([0-9]{1,6}):?((?:\s+[A-Z_?]){0,144})$"
)
_STATES = re.compile(r"^[A-Z_?](?:\s+[A-Z_?]){0,143}$")
_GPU = re.compile(r"\bGPU ([0-9]{1,4})\b")
_LINK = re.compile(r"^Link ([0-9]{1,3})$")
_ROW = re.compile(r"^\|\s*([^|]{1,60}?)\s*\|\s*([^|]{0,40}?)\s*\|?$")
_WIDE = re.compile(r"^\|\s*([^|]{1,100}?)\s*\|$")
_NOISE = re.compile(
    r"^(?:GPUs:|NvSwitches:|No (?:GPUs|NvSwitches) found\.?|Key: .*|Link Entities: .*"
    r"|(?:[0-9]{1,3}:[0-9]{4,20}\s*)+$|(?:\S*[$#] )?dcgmi nvlink\b.*)$"
)
_WARNING = re.compile(
    r"^Warning: Unable to retrieve nvlink (.{1,40}) count for link ([0-9]{1,3}) for gpuId"
    r" ([0-9]{1,4}) - (.{1,80})$"
)
_NO_SWITCH = re.compile(r"^No NvSwitches found")
_OWN = r"[Nn]v[Ll]ink link status|nvlink (?:error|field group)"


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if '"NVLINK Error Counts"' in text[:20000]:
        return 97
    head = _dcgm_text.head(text)
    if re.search(r"(?m)^\s*\|\s*(?:NVLINK Error Counts|NvLink Link Status)\s*\|", head):
        return 97
    if re.search(r"(?m)^\s*(?:gpuId|physicalId) [0-9]+:\s+[UDX_](?:\s[UDX_])*\s*$", head):
        return 95
    return _dcgm_text.only_error(text, "nvlink", _OWN, 45)


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `gpu:N`, `gpu:N/nvlink:L`, `nvswitch:N/nvlink:L`."""
    reading = Reading(KIND, tool_name="dcgmi")
    node = Entity("")
    if '"NVLINK Error Counts"' in decode(data)[:200_000]:
        _documents(reading, data)
    else:
        _lines(reading, node, data)
    if not reading.entities and not node.values:
        return _plain.nothing(reading, "`gpuId N:` or `NVLINK Error Counts`")
    gpus = [one for one in reading.entities if re.match(r"^gpu:[0-9]+$", one.path)]
    switches = [one for one in reading.entities if re.match(r"^nvswitch:[0-9]+$", one.path)]
    node.values["gpu_count"] = len(gpus)
    if switches:
        node.values["nvswitch_count"] = len(switches)
    _widths(reading, gpus)
    if not reading.entities and any(one.code == "tool_error" for one in reading.problems):
        reading.quality = ERROR
    reading.entities.insert(0, node)
    return reading


def _widths(reading: Reading, gpus: list[Entity]) -> None:
    """Say which GPUs have fewer letters than others: dcgmi prints as many for each."""
    told = [one for one in gpus if "nvlink_count" in one.values]
    paths = [one.path.partition("/")[0] for one in reading.entities if "/" in one.path]
    widths = {one.path: paths.count(one.path) for one in told}
    longest = max(widths.values(), default=0)
    for one in gpus if told else []:
        if widths.get(one.path, 0) < longest:
            code = "truncated" if one is gpus[-1] else "missing_value"
            says = f"{widths.get(one.path, 0)} links where other GPUs have {longest}"
            _plain.note(reading, code, says, entity=one.path)


def _entity(reading: Reading, path: str) -> Entity:
    return reading.added(path) or reading.add(Entity(path))


def _lines(reading: Reading, node: Entity, data: Data) -> None:
    owner: Entity | None = None
    link: Entity | None = None
    lines = _dcgm_text.lines(data)
    for number, line in lines:
        word = line.strip()
        found, row, wide = _OWNER.match(word), _ROW.match(word), _WIDE.match(word)
        if found:
            owner = _owner(reading, found, number)
        elif owner is not None and _STATES.match(word):
            _states(reading, owner, word.split(), number)
        elif wide:
            owner, link = _titled(reading, wide.group(1)) or (owner, link)
        elif row:
            link = _row(reading, owner, link, (row.group(1), row.group(2)), number)
        elif _NO_SWITCH.match(word):
            node.values["nvswitch_count"] = 0
        elif _dcgm_text.is_rule(word) or _NOISE.match(word):
            continue
        elif not _warning(reading, word, number) and not _dcgm_text.error(reading, number, word):
            _pasted.strange(reading, number, line, "a line of dcgmi nvlink")
    _unclosed(reading, lines)


def _unclosed(reading: Reading, lines: list[tuple[int, str]]) -> None:
    drawn = [line.strip()[0] for _number, line in lines if line.strip()[0] in "|+"]
    if drawn[-1:] == ["|"]:
        _plain.note(reading, "truncated", "no line is drawn below the last row of the table")


def _owner(reading: Reading, found: re.Match[str], number: int) -> Entity:
    sort = "gpu" if found.group(1) == "gpuId" else "nvswitch"
    owner = _entity(reading, f"{sort}:{int(found.group(2))}")
    if found.group(3).strip():
        _states(reading, owner, found.group(3).split(), number)
    return owner


def _titled(reading: Reading, title: str) -> tuple[Entity, None] | None:
    gpu = _GPU.search(title)
    return (_entity(reading, f"gpu:{int(gpu.group(1))}"), None) if gpu else None


def _warning(reading: Reading, word: str, number: int) -> bool:
    """Record a counter that could not be read; return whether the line tells of one."""
    found = _WARNING.match(word)
    if found is None:
        return False
    if "not supported" in found.group(4).lower():  # the GPU has no such link
        return True
    link = _entity(reading, f"gpu:{int(found.group(3))}/nvlink:{int(found.group(2))}")
    name = _ERRORS.get(found.group(1).lower())
    if name:
        link.values[name], link.notes[name] = None, "unreadable"
    where = {"line": number, "entity": link.path, "field": name, "verbatim": word}
    _plain.note(reading, "unreadable_value", f"{found.group(1)} could not be read", **where)
    return True


def _states(reading: Reading, owner: Entity, letters: list[str], number: int) -> None:
    for index, letter in enumerate(letters):
        link = _entity(reading, f"{owner.path}/nvlink:{index}")
        link.values["state"] = _LETTERS.get(letter, letter)
        if letter not in _LETTERS:
            link.notes["state"] = "verbatim"
            where = {"line": number, "entity": link.path, "field": "state", "verbatim": letter}
            _plain.note(reading, "unknown_value", "not a state that is known", **where)
    owner.values["nvlink_up_count"] = letters.count("U")
    owner.values["nvlink_down_count"] = letters.count("D")
    owner.values["nvlink_disabled_count"] = letters.count("X")
    owner.values["nvlink_count"] = len(letters) - letters.count("_")


def _row(
    reading: Reading, owner: Entity | None, link: Entity | None, row: tuple[str, str], number: int
) -> Entity | None:
    """Read a row of the table of errors; return the entity that the next rows are of."""
    label, word = row
    start = _LINK.match(label)
    if owner is None:
        _plain.malformed(reading, number, label, "a row below `GPU N`")
    elif start:
        return _entity(reading, f"{owner.path}/nvlink:{int(start.group(1))}")
    elif label == "Error Detail":
        return owner
    elif link is not None and label.startswith("->"):
        _error(reading, link, label[2:].strip(), word, number)
    return link


def _error(reading: Reading, link: Entity, name: str, word: str, number: int | None) -> None:
    value: int | float | None = int(word) if re.match(r"^-?[0-9]{1,20}$", word) else None
    known = _ERRORS.get(name.lower())
    if value is None and not known:  # a rate of errors
        found = re.match(r"^[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,2})?$", word)
        value = float(word) if found else None
    if value is None and word not in ("N/A", "Not Supported", "-", ""):
        where = {"line": number, "entity": link.path, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} is no number", **where)
    counters = link.values.setdefault("counters", {})
    if isinstance(counters, dict) and len(counters) < 64:
        counters[name] = value
    if known:
        link.values[known] = value


def _documents(reading: Reading, data: Data) -> None:
    """Read all documents: one a GPU, where somebody asked for each."""
    documents, others = _json_docs.split(data)
    for number, line in others:
        if not _warning(reading, line, number) and not _dcgm_text.error(reading, number, line):
            _plain.malformed(reading, number, line, "JSON")
    for document in documents:
        _document(reading, _json.as_dict(_json.load(document.text, reading)))
    _json_docs.settle(reading, "`NVLINK Error Counts`")


def _document(reading: Reading, document: dict[str, t.Any]) -> None:
    header = document.get("header")
    titles = " ".join(str(one)[:100] for one in header[:8]) if isinstance(header, list) else ""
    found = _GPU.search(titles)
    body = _json.as_dict(document.get("body"))
    if found is None:
        if body:
            _plain.note(reading, "missing_value", "the header names no GPU")
        return
    gpu = _entity(reading, f"gpu:{int(found.group(1))}")
    for name, one in body.items():
        start = _LINK.match(name)
        link = _entity(reading, f"{gpu.path}/nvlink:{int(start.group(1))}") if start else gpu
        if not start and name != "Error Detail":
            continue
        for label, counted in _json.as_dict(_json.as_dict(one).get("children")).items():
            word = _json.text_of(_json.as_dict(counted).get("value")) or ""
            _error(reading, link, label[:100], word, None)
