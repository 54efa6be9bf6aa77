# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi diag -j`: results of DCGM's diagnostics.

Format: `{"DCGM GPU Diagnostic": {"test_categories": [...]}}` of DCGM 2 and 3, with the
GPUs of a result as text, `"gpu_ids": "0,1"`, or none at all; `{"DCGM Diagnostic": ...}` of
DCGM 4, with an entity a result, a summary a test, and serial numbers in entity_groups. With
--iterations such documents stand in `{"iterations": [...], "result": ...}`. Statuses are in
any case of letters. Versions: DCGM 2.4 to 4.7. Source: NVIDIA/DCGM, dcgmi/Diag.cpp and
testing/python3/dcgm_diag_schema.json.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import serial
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_diag,
    _dcgm_text,
    _json,
    _json_docs,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    PARTIAL,
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dcgmi-diag-json"
TITLE = "dcgmi diag, JSON: DCGM's diagnostics"
VERSIONS = "DCGM 2.4 to 4.7"
SOURCES = (
    "https://github.com/NVIDIA/DCGM testing/python3/dcgm_diag_schema.json",
    "https://github.com/NVIDIA/DCGM dcgmi/Diag.cpp",
)
PROVEN = True
FIELDS = _dcgm_diag.FIELDS
_TOPS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_IDS = ("GPU Device IDs", "GPU PCI Device IDs")
_MAX_RESULTS = 20000
_MAX_DEPTH = 3
# DCGM 4 keeps no more further texts than this in one run. Source:
# https://github.com/NVIDIA/DCGM/issues/215
_MOST_INFO = 16
# What stands below no key of its own: a document that lost its beginning, or was cut out.
_PARTS = ("test_categories", "runtime_error")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:60000]
    if re.search(r'"DCGM (?:GPU )?Diagnostic"\s*:', head):
        return 97
    parts = ('"test_categories"', '"tests"', '"results"')
    return 85 if all(part in head for part in parts) else 0


def read(data: Data) -> Reading:
    """Read all documents. Entities: "", `gpu:N`, `test:<name>`, `gpu:N/test:<name>`."""
    reading = Reading(KIND, tool_name="dcgmi")
    node = Entity("", values={"runtime_error": None, "run_count": 0})
    documents, others = _json_docs.split(data)
    for number, line in others:
        if not _dcgm_text.error(reading, number, line):
            _plain.malformed(reading, number, line, "JSON")
    found = False
    for document in documents:
        known = len(reading.problems)
        value = _json.as_dict(_json.load(document.text, reading))
        found |= _document(reading, node, value, 0)
        if any(one.code == "truncated" for one in reading.problems[known:]):
            _doubt_last(reading, value)
    if not found:
        return _plain.nothing(reading, "`DCGM Diagnostic` at the top of a JSON document")
    if reading.quality == UNREADABLE:  # one of several documents
        reading.quality = PARTIAL
    _dcgm_diag.finish(reading, node)
    if not node.values["test_count"] and not node.values["runtime_error"]:
        _plain.note(reading, "missing_value", "no test is told of")
    return reading


def _doubt_last(reading: Reading, document: dict[str, t.Any]) -> None:
    """Take back that the test passed in which the document ends: more results were to come."""
    place: t.Any = document
    while isinstance(place, (dict, list)) and place:
        if isinstance(place, dict) and "name" in place and "results" in place:
            break
        place = place[-1] if isinstance(place, list) else list(place.values())[-1]
    if not isinstance(place, dict) or "test_summary" in place:
        return
    name = _dcgm_diag.key_of(_text(place, "name") or "")
    test = reading.added(f"test:{name}")
    if test and test.values["status"] not in ("fail", "warn"):
        test.values["status"] = None


def _document(reading: Reading, node: Entity, document: dict[str, t.Any], depth: int) -> bool:
    """Read one run, or those below `iterations`; return whether it is one."""
    runs = _json.dicts(document.get("iterations"))
    if runs and depth < _MAX_DEPTH:
        found = [_document(reading, node, run, depth + 1) for run in runs]
        why = _json.text_of(document.get("warning"))
        if why and _text(document, "result") != "Pass":
            _plain.note(reading, "tool_error", "the runs were not finished", verbatim=why)
        return any(found)
    top = next((_json.as_dict(document[key]) for key in _TOPS if key in document), None)
    if top is None:
        if not any(key in document for key in _PARTS):
            return False
        top = document
    node.values["run_count"] = int(str(node.values["run_count"])) + 1
    _about(reading, node, document, top)
    categories = _json.dicts(top.get("test_categories"))
    _count_info(node, categories, _TOPS[0] in document)
    for category in categories:
        for one in _json.dicts(category.get("tests")):
            _test(reading, one, _json.text_of(category.get("category")))
    return True


def _about(
    reading: Reading, node: Entity, document: dict[str, t.Any], top: dict[str, t.Any]
) -> None:
    places = (_json.as_dict(document.get("metadata")), top, document)
    _first(node, "dcgm_version", [_text(place, "version") for place in places])
    _first(node, "driver_version", [_text(place, "Driver Version Detected") for place in places])
    _first(node, "eud_version", [_text(place, "EUD Test Version") for place in places])
    _first(node, "runtime_error", [_text(place, "runtime_error") for place in places])
    listed = next((top[key] for key in _IDS if isinstance(top.get(key), list)), None)
    if listed is not None:
        ids = " ".join(_json.text_of(one) or "" for one in listed[:256])
        node.values["gpu_device_ids"] = list(_dcgm_diag.device_ids(ids))
    for index, number in _json.as_dict(top.get("GPU Device Serials")).items():
        if re.match(r"^[0-9]{1,4}$", index):
            _device(reading, f"gpu:{int(index)}").ids["serial"] = serial(_json.text_of(number))
    for group in _json.dicts(document.get("entity_groups")):
        _group(reading, group)


def _count_info(node: Entity, categories: list[dict[str, t.Any]], limited: bool) -> None:
    """Count the further texts of one run, and say where more of them may have been dropped."""
    tests = [one for category in categories for one in _json.dicts(category.get("tests"))]
    places = [
        place
        for one in tests
        for place in (*_json.dicts(one.get("results")), _json.as_dict(one.get("test_summary")))
    ]
    texts = [place.get("info") for place in places if place.get("info")]
    counted = sum(len(one) if isinstance(one, list) else 1 for one in texts)
    before = node.values.get("info_count")
    node.values["info_count"] = counted + (before if isinstance(before, int) else 0)
    if limited and counted >= _MOST_INFO:
        node.notes["info_count"] = "at_least"


def _first(node: Entity, name: str, found: list[str | None]) -> None:
    if node.values.get(name) is None:
        node.values[name] = next((one for one in found if one), None)


def _device(reading: Reading, path: str) -> Entity:
    return reading.added(path) or reading.add(Entity(path))


def _group(reading: Reading, group: dict[str, t.Any]) -> None:
    sort = (_text(group, "entity_group") or "").lower()
    if sort not in ("gpu", "cpu"):
        return
    for one in _json.dicts(group.get("entities"))[:1024]:
        index = _json.integer_of(one.get("entity_id"))
        if index is not None:
            device = _device(reading, f"{sort}:{index}")
            device.ids["serial"] = serial(_text(one, "serial_num"))
            device.values["device_id"] = _text(one, "device_id")


def _text(place: dict[str, t.Any], key: str) -> str | None:
    return _json.text_of(place.get(key))


def _test(reading: Reading, one: dict[str, t.Any], category: str | None) -> None:
    name = _json.text_of(one.get("name")) or "unnamed"
    whole = _dcgm_diag.test(reading, name, category)
    statuses: list[t.Any] = [whole.values["status"]]
    results = _json.dicts(one.get("results"))[:_MAX_RESULTS]
    for result in results:
        owners = [_dcgm_diag.test(reading, name, category, path) for path in _owners(result)]
        for entity in owners or [whole]:
            _result(reading, entity, result)
            statuses.append(entity.values["status"])
        if owners:
            _texts(whole, result)
    summary = _json.as_dict(one.get("test_summary"))
    if _text(summary, "status"):
        _dcgm_diag.put_status(reading, whole, _text(summary, "status") or "")
        _texts(whole, summary)
    else:
        _dcgm_diag.summarise(whole, statuses)
    if not results and not summary:
        _plain.note(reading, "missing_value", f"{name} has no result", entity=whole.path)


def _owners(result: dict[str, t.Any]) -> list[str]:
    """Return the GPUs or CPUs of a result, as paths; none for a result of the whole node."""
    sort = (_text(result, "entity_group") or "").lower()
    if sort in ("gpu", "cpu"):
        index = _json.integer_of(result.get("entity_id"))
        return [] if index is None else [f"{sort}:{index}"]
    sort = "cpu" if _text(result, "cpu_id") else "gpu"
    told = (_text(result, f"{sort}_ids"), _text(result, f"{sort}_id"))
    words = re.split(r"[,\s]+", next((one for one in told if one), ""))
    return [f"{sort}:{int(word)}" for word in words if re.match(r"^[0-9]{1,4}$", word)]


def _result(reading: Reading, entity: Entity, result: dict[str, t.Any]) -> None:
    status = result.get("status")
    if isinstance(status, str):
        _dcgm_diag.put_status(reading, entity, status)
    else:
        _plain.note(reading, "missing_value", "a result without status", entity=entity.path)
    _texts(entity, result)


def _texts(entity: Entity, result: dict[str, t.Any]) -> None:
    """Keep the warnings with their numbers, and what else is said."""
    warnings = result.get("warnings", result.get("warning"))
    for one in warnings if isinstance(warnings, list) else [warnings]:
        if isinstance(one, dict):  # DCGM 3 calls the text of software tests `warnings`
            text = _text(one, "warning") or _text(one, "warnings")
            _dcgm_diag.extend(entity, "warnings", [text])
            _dcgm_diag.extend(entity, "error_ids", [_json.integer_of(one.get("error_id"))])
        else:
            _dcgm_diag.extend(entity, "warnings", [_json.text_of(one)])
    info = result.get("info")
    listed = info if isinstance(info, list) else [info]
    _dcgm_diag.extend(entity, "info", [_json.text_of(one) for one in listed])
