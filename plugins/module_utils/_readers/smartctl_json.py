# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `smartctl --json` for one NVMe, SATA or SAS disk.

Source: smartmontools 7.0 to 7.5. `exit_status` is a bit mask: bit 3 says that the
disk fails now, bit 1 that it could not be opened (smartctl(8), "EXIT STATUS").
One NVMe data unit is 512000 bytes (NVMe base specification, SMART log).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "smartctl-json"
TITLE = "Health of a disk by smartctl, JSON"
VERSIONS = "smartmontools 7.0 to 7.5"
SOURCES = ("https://www.smartmontools.org/",)
PROVEN = True
_LOG = "nvme_smart_health_information_log"
# (value name, place, type, what it says, unit)
_Row = t.Tuple[str, str, type, str, t.Optional[str]]
_ROWS: tuple[_Row, ...] = (
    ("model", "model_name", str, "model", None),
    ("firmware_version", "firmware_version", str, "firmware", None),
    ("protocol", "device/protocol", str, "NVMe, ATA, SCSI", None),
    ("capacity_b", "nvme_total_capacity|user_capacity/bytes", int, "size", "B"),
    ("smart_passed", "smart_status/passed", bool, "the disk's own verdict", None),
    ("critical_warning", f"{_LOG}/critical_warning", int, "NVMe warning bits; 0 is none", None),
    ("media_error_count", f"{_LOG}/media_errors", int, "data that could not be read", None),
    ("error_log_count", f"{_LOG}/num_err_log_entries", int, "entries of the error log", None),
    ("percentage_used_pct", f"{_LOG}/percentage_used", int, "life used; can pass 100", "%"),
    ("available_spare_pct", f"{_LOG}/available_spare", int, "spare blocks left", "%"),
    ("available_spare_threshold_pct", f"{_LOG}/available_spare_threshold", int, "least", "%"),
    ("unsafe_shutdown_count", f"{_LOG}/unsafe_shutdowns", int, "power losses", None),
    ("data_units_written", f"{_LOG}/data_units_written", int, "units of 512000 bytes", None),
    ("temperature_c", f"temperature/current|{_LOG}/temperature", float, "temperature", "°C"),
    ("power_on_h", "power_on_time/hours", int, "time switched on", "h"),
    ("power_cycle_count", "power_cycle_count", int, "times switched on", None),
    ("grown_defect_count", "scsi_grown_defect_list", int, "SAS: blocks moved away", None),
)
FIELDS = {
    "node": {"exit_status": Field(int, "smartctl's exit bits; 0 is good")},
    "disk": {name: Field(kind, says, unit) for name, _place, kind, says, unit in _ROWS},
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    is_json = re.match(r"\s*\{", text) is not None
    return 96 if is_json and re.search(r'"smartctl"\s*:\s*\{', text) else 0


def read(data: Data) -> Reading:
    """Read one document; entities "" and `disk:<device>`."""
    reading = Reading(KIND)
    body = _json.as_dict(_json.load(data, reading))
    if "smartctl" not in body and "device" not in body:
        if not reading.problems:
            reading.note("other_format", "not a document of smartctl")
        reading.quality = UNREADABLE
        return reading
    tool = _json.as_dict(body.get("smartctl"))
    version = tool.get("version")
    if isinstance(version, list):
        reading.tool_name = "smartctl"
        reading.tool_version = ".".join(str(one) for one in version[:3]) or None
    node = reading.add(Entity(""))
    node.values["exit_status"] = _json.integer_of(tool.get("exit_status"))
    name = _json.text_of(_json.as_dict(body.get("device")).get("name"))
    if name is not None:
        _disk(reading, re.sub(r"^/dev/", "", name), body)
    for message in _json.dicts(tool.get("messages")):
        if message.get("severity") == "error":
            said = _json.text_of(message.get("string"))
            reading.note("tool_error", "smartctl reported an error", verbatim=said)
    has_health = any(one in body for one in ("smart_status", _LOG, "temperature"))
    if not has_health:
        told = any(one.code == "tool_error" for one in reading.problems)
        if not told:
            reading.note("missing_value", "the disk gave no health: it was not read, or cannot")
        reading.quality = ERROR if told else reading.quality
    return reading


def _disk(reading: Reading, name: str, body: dict[str, t.Any]) -> None:
    entity = reading.add(Entity("disk:" + re.sub("[/:,]", "_", name)))
    for value_name, places, kind, _says, _unit in _ROWS:
        for place in places.split("|"):
            found: t.Any = body
            for key in place.split("/"):
                found = _json.as_dict(found).get(key)
            if found is not None:
                value = _convert(kind, found)
                entity.values.setdefault(value_name, value)
                if value is None and kind is not str:
                    says = f"{place} is no {'truth value' if kind is bool else 'number'}"
                    where = {"entity": entity.path, "field": value_name, "verbatim": found}
                    reading.note("unknown_value", says, **where)
    entity.ids["serial"] = _serial(body)
    wwn = _json.text_of(body.get("nvme_eui64")) or _json.text_of(body.get("logical_unit_id"))
    if wwn:
        entity.ids["wwn"] = wwn.lower()


def _serial(body: dict[str, t.Any]) -> str | None:
    text = _json.text_of(body.get("serial_number"))
    return None if text == "REDACTED" else _identity.serial(text)


def _convert(kind: type, value: t.Any) -> t.Any:
    if kind is bool:
        return value if isinstance(value, bool) else None
    if kind is str:
        return _json.text_of(value)
    return _json.integer_of(value) if kind is int else _json.number_of(value)
