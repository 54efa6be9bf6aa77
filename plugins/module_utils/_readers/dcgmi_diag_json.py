# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi diag -j`: results of DCGM's diagnostics.

Format: `{"DCGM GPU Diagnostic": {"test_categories": [...]}}` of DCGM 2 and 3, with the
GPUs of a result as text, `"gpu_ids": "0,1"`, or none at all; `{"DCGM Diagnostic": ...}` of
DCGM 4, with an entity a result, a summary a test, and serial numbers in entity_groups.
Statuses are in any case of letters. Versions: DCGM 2.4 to 4.7. Source: NVIDIA/DCGM,
testing/python3/dcgm_diag_schema.json.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import serial
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_diag,
    _json,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dcgmi-diag-json"
TITLE = "dcgmi diag, JSON: DCGM's diagnostics"
VERSIONS = "DCGM 2.4 to 4.7"
SOURCES = ("https://github.com/NVIDIA/DCGM testing/python3/dcgm_diag_schema.json",)
PROVEN = True
FIELDS = _dcgm_diag.FIELDS
_TOPS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_MAX_RESULTS = 20000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if re.search(r'"DCGM (?:GPU )?Diagnostic"\s*:', text[:20000]) else 0


def read(data: Data) -> Reading:
    """Read one document. Entities: "", `gpu:N`, `test:<name>`, `gpu:N/test:<name>`."""
    reading = Reading(KIND, tool_name="dcgmi")
    document = _json.as_dict(_json.load(data, reading))
    top = next((_json.as_dict(document[key]) for key in _TOPS if key in document), None)
    if top is None:
        if not reading.problems:
            reading.note("other_format", "no `DCGM Diagnostic` at the top")
        reading.quality = UNREADABLE
        return reading
    node = Entity("")
    _about(reading, node, document, top)
    for category in _json.dicts(top.get("test_categories")):
        for one in _json.dicts(category.get("tests")):
            _test(reading, one, _json.text_of(category.get("category")))
    _dcgm_diag.finish(reading, node)
    if not node.values["test_count"] and not node.values["runtime_error"]:
        _plain.note(reading, "missing_value", "no test is told of")
    return reading


def _about(
    reading: Reading, node: Entity, document: dict[str, t.Any], top: dict[str, t.Any]
) -> None:
    metadata = _json.as_dict(document.get("metadata"))
    places = (metadata, top, document)
    version = next((p for p in (_text(place, "version") for place in places) if p), None)
    driver = [_text(place, "Driver Version Detected") for place in places]
    node.values["dcgm_version"] = version
    node.values["driver_version"] = next((one for one in driver if one), None)
    errors = [_text(place, "runtime_error") for place in (top, document)]
    node.values["runtime_error"] = next((one for one in errors if one), None)
    for group in _json.dicts(document.get("entity_groups")):
        if _json.text_of(group.get("entity_group")) != "GPU":
            continue
        for one in _json.dicts(group.get("entities")):
            index = _json.integer_of(one.get("entity_id"))
            if index is not None:
                gpu = reading.add(Entity(f"gpu:{index}"))
                gpu.ids["serial"] = serial(_json.text_of(one.get("serial_num")))
                gpu.values["device_id"] = _json.text_of(one.get("device_id"))


def _text(place: dict[str, t.Any], key: str) -> str | None:
    return _json.text_of(place.get(key))


def _test(reading: Reading, one: dict[str, t.Any], category: str | None) -> None:
    name = _json.text_of(one.get("name")) or "unnamed"
    whole = _dcgm_diag.test(reading, name, category)
    statuses: list[t.Any] = []
    for result in _json.dicts(one.get("results"))[:_MAX_RESULTS]:
        gpus = _gpus(result)
        for entity in [_dcgm_diag.test(reading, name, category, gpu) for gpu in gpus] or [whole]:
            _result(reading, entity, result)
            statuses.append(entity.values["status"])
            if entity is not whole:
                _dcgm_diag.extend(whole, "warnings", _list(entity, "warnings"))
                _dcgm_diag.extend(whole, "error_ids", _list(entity, "error_ids"))
    summary = _text(_json.as_dict(one.get("test_summary")), "status")
    if summary:
        _dcgm_diag.put_status(reading, whole, summary)
    else:
        _dcgm_diag.summarise(whole, statuses)
    if not statuses and not summary:
        _plain.note(reading, "missing_value", f"{name} has no result", entity=whole.path)


def _list(entity: Entity, name: str) -> list[t.Any]:
    listed = entity.values[name]
    return listed if isinstance(listed, list) else []


def _gpus(result: dict[str, t.Any]) -> list[str]:
    """Return the GPUs of a result, as paths; none for a result of the whole node."""
    if _text(result, "entity_group") == "GPU":
        index = _json.integer_of(result.get("entity_id"))
        return [] if index is None else [f"gpu:{index}"]
    words = re.split(r"[,\s]+", _text(result, "gpu_ids") or _text(result, "gpu_id") or "")
    return [f"gpu:{int(word)}" for word in words if re.match(r"^[0-9]{1,4}$", word)]


def _result(reading: Reading, entity: Entity, result: dict[str, t.Any]) -> None:
    status = _text(result, "status")
    if status:
        _dcgm_diag.put_status(reading, entity, status)
    else:
        _plain.note(reading, "missing_value", "a result without status", entity=entity.path)
    warnings = result.get("warnings", result.get("warning"))
    for one in warnings if isinstance(warnings, list) else [warnings]:
        if isinstance(one, dict):
            _dcgm_diag.extend(entity, "warnings", [_text(one, "warning")])
            _dcgm_diag.extend(entity, "error_ids", [_json.integer_of(one.get("error_id"))])
        else:
            _dcgm_diag.extend(entity, "warnings", [_json.text_of(one)])
    info = result.get("info")
    listed = info if isinstance(info, list) else [info]
    _dcgm_diag.extend(entity, "info", [_json.text_of(one) for one in listed])
