# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of one Redfish resource (or error answer), as a BMC sends it.

Two shapes exist for cooling and power: `Thermal` and `Power` with lists inside,
and one `Sensor`, `Fan`, `PowerSupply`, `LeakDetector` each. Traps: iLO 4 says
`CurrentReading`, `Units` and `FanName`; a sensor of an empty port can be
`Health: Critical` beside `State: Absent`, which is no fault (the health is null
here, and kept in `health_reported`); Lenovo and others leave `@odata.type` out;
some BMCs write a reading as text. Source: DMTF DSP2046 (Redfish resource guide).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _redfish_fields as fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "redfish"
TITLE = "Redfish resource, JSON: health, sensors, power, firmware, links"
VERSIONS = "Redfish 1.0 to 1.20; Dell, HPE (iLO 4 on), Lenovo, Supermicro, AMI, OpenBMC (NVIDIA)"
SOURCES = (
    "https://www.dmtf.org/standards/redfish",
    "https://github.com/NVIDIA/libredfish",
    "https://github.com/influxdata/telegraf",
)
PROVEN = True
FIELDS = fields.FIELDS

_TYPE = re.compile(r"^#([A-Za-z]{1,60})\.")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_READING_STATES = {"absent", "disabled", "unavailable_offline", "standby_offline"}
_MAX_MEMBERS = 5000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if text.lstrip()[:1] != "{":
        return 0
    if '"@odata.id"' in text and "/redfish/v1" in text:
        return 96
    if '"@Message.ExtendedInfo"' in text:
        return 95
    return 90 if re.search(r'"@odata\.type"\s*:\s*"#[A-Z]', text) else 0


def read(data: Data) -> Reading:
    """Read one answer; entity "" says what the resource is, the others are its parts."""
    reading = Reading(KIND)
    document = _json.load(data, reading)
    if not isinstance(document, dict):
        if document is not None:
            reading.note("other_format", "a JSON list, where Redfish sends an object")
            reading.quality = UNREADABLE
        return reading
    if not {"@odata.id", "@odata.type", "error", "@Message.ExtendedInfo"} & set(document):
        reading.note("other_format", "a JSON object without @odata.id: not a Redfish resource")
        reading.quality = UNREADABLE
        return reading
    _Resource(reading, document).take()
    messages = document.get("@Message.ExtendedInfo")
    if "error" in document or ("@odata.type" not in document and messages):
        _error(reading, _json.as_dict(document.get("error")) or document)
    return reading


class _Resource:
    """One resource, or each member of an expanded collection."""

    def __init__(self, reading: Reading, body: dict[str, t.Any]) -> None:
        self.reading = reading
        self.body = body
        self.path = _json.text_of(body.get("@odata.id"))
        self.type = _type_of(body, self.path or "")

    def take(self) -> None:
        """Read the document that stands for the whole answer."""
        node = self.reading.add(Entity(""))
        node.values.update({"resource_type": self.type, "resource_path": self.path})
        members = self.body.get("Members")
        if isinstance(members, list):
            count = _json.integer_of(self.body.get("Members@odata.count"))
            node.values["member_count"] = count if count is not None else len(members)
            node.values["more_members"] = "Members@odata.nextLink" in self.body
            for member in _json.dicts(members)[:_MAX_MEMBERS]:
                if len(member) > 1:  # expanded; else it is a link only
                    _Resource(self.reading, member).parts()
        elif "error" not in self.body:
            self.parts()

    def parts(self) -> None:
        """Add the entities of this resource."""
        if self.type in ("Thermal", "Power"):
            self._lists()
        else:
            entity = self._entity(self._own_path(), self.body)
            _fill(self.reading, entity, self.type, self.body)
        conditions = _json.as_dict(self.body.get("Status")).get("Conditions")
        for condition in _json.dicts(conditions)[:_MAX_MEMBERS]:
            self._message("condition", condition)

    def _own_path(self) -> str:
        name = _name(_json.text_of(self.body.get("Id")) or (self.path or "").rsplit("/", 1)[-1])
        parent = _parent(self.path or "")
        if self.type == "Port":
            return _port_path(self.path or "", parent, name)
        if self.type == "Processor":
            is_gpu = self.body.get("ProcessorType") == "GPU"
            return f"{'gpu' if is_gpu else 'cpu'}:{name}"
        if self.type == "ProcessorMetrics":
            return f"{'gpu' if 'gpu' in parent.lower() else 'cpu'}:{parent}"
        return f"{fields.TYPES.get(self.type or '', 'resource')}:{name}"

    def _lists(self) -> None:
        """Read Thermal or Power, whose sensors stand in lists."""
        whole = self._entity(f"resource:{self.type}", self.body)
        whole.values["name"] = _json.text_of(self.body.get("Name"))
        for key, kind in fields.LISTS.items():
            for index, body in enumerate(_json.dicts(self.body.get(key))[:_MAX_MEMBERS]):
                name = _json.text_of(body.get("Name")) or _json.text_of(body.get("FanName"))
                member = _json.text_of(body.get("MemberId"))
                path = f"{kind}:{_name(name or member or str(index))}"
                if kind in ("psu", "power_control") or self.reading.entity(path) is not None:
                    path = f"{kind}:{_name(member or str(index))}"
                _fill(self.reading, self._entity(path, body), key, body)

    def _entity(self, path: str, body: dict[str, t.Any]) -> Entity:
        entity = self.reading.add(Entity(path))
        status = _json.as_dict(body.get("Status"))
        state = _snake(status.get("State"))
        health = _snake(status.get("Health"))
        entity.values.update(
            {
                "state": state,
                "health": None if state == "absent" else health,
                "health_rollup": _snake(status.get("HealthRollup")),
            }
        )
        if state == "absent" and health is not None:
            entity.values["health_reported"] = health
            entity.notes["health"] = "not_supported"
        return entity

    def _message(self, kind: str, body: dict[str, t.Any]) -> None:
        index = sum(one.path.startswith(f"{kind}:") for one in self.reading.entities)
        self.reading.add(Entity(f"{kind}:{index}", values=_message_values(body)))


def _error(reading: Reading, error: dict[str, t.Any]) -> None:
    """Read a refusal; a message without MessageId is still a message."""
    messages = _json.dicts(error.get("@Message.ExtendedInfo"))[:_MAX_MEMBERS]
    for index, message in enumerate(messages):
        reading.add(Entity(f"message:{index}", values=_message_values(message)))
    node = reading.entity("")
    if node is not None:
        node.values["error_code"] = _json.text_of(error.get("code"))
        node.values["error_message"] = _json.text_of(error.get("message"))
    texts = [_json.text_of(one.get("Message")) for one in messages]
    said = "; ".join(one for one in texts if one) or _json.text_of(error.get("message"))
    reading.note("tool_error", "the BMC refused the request", verbatim=said)
    reading.quality = ERROR


def _message_values(body: dict[str, t.Any]) -> dict[str, t.Any]:
    severity = body.get("MessageSeverity", body.get("Severity"))
    return {
        "severity": _snake(severity),
        "message": _json.text_of(body.get("Message")),
        "message_id": _json.text_of(body.get("MessageId")),
        "resolution": _json.text_of(body.get("Resolution")),
    }


def _type_of(body: dict[str, t.Any], path: str) -> str | None:
    """Return `Thermal`; from the address where the BMC leaves the type out."""
    found = _TYPE.match(_json.text_of(body.get("@odata.type")) or "")
    if found:
        return found.group(1)
    last, parent = path.rstrip("/").rsplit("/", 1)[-1], _parent(path + "/x")
    if last in ("Thermal", "Power", "ProcessorMetrics", "ThermalSubsystem", "PowerSubsystem"):
        return last
    return fields.BY_COLLECTION.get(path.rstrip("/").rsplit("/", 2)[-2] if parent else "")


def _parent(path: str) -> str:
    """Return `GPU_SXM_1` for `.../Processors/GPU_SXM_1/Ports/NVLink_0` and `.../GPU_SXM_1/x`."""
    parts = [one for one in path.split("/") if one]
    if len(parts) >= 3 and parts[-2] == "Ports":
        return _name(parts[-3])
    return _name(parts[-2]) if len(parts) >= 2 else ""


def _port_path(path: str, parent: str, name: str) -> str:
    link = "nvlink" if "nvlink" in name.lower() else "port"
    if "/Processors/" in path:
        return f"gpu:{parent}/{link}:{name}"
    if "/Switches/" in path:
        return f"{'nvswitch' if 'nvswitch' in parent.lower() else 'switch'}:{parent}/{link}:{name}"
    return f"nic:{parent}/{link}:{name}" if "/NetworkAdapters/" in path else f"{link}:{name}"


def _name(text: str) -> str:
    """Return the text without the characters that have a meaning in an entity's path."""
    return re.sub(r"[/:\s]+", "_", text.strip())[:120].strip("_") or "unnamed"


def _snake(value: t.Any) -> str | None:
    """Return `standby_offline` for `StandbyOffline`."""
    text = _json.text_of(value)
    if text is None or text == "NA":
        return None
    return _WORD.sub("_", text[:80]).replace(" ", "_").lower()


def _fill(reading: Reading, entity: Entity, kind: str | None, body: dict[str, t.Any]) -> None:
    """Put the values that this kind of resource has."""
    own_type = entity.path.rsplit("/", 1)[-1].split(":", 1)[0]
    for name, where, reader in fields.SOURCES_OF[own_type]:
        found = [_dig(body, one) for one in where.split("|")]
        present = [one for one in found if one is not _MISSING]
        if present:
            entity.values[name] = _convert(
                reader, next((p for p in present if p is not None), None)
            )
    if own_type in ("gpu", "system", "chassis", "psu", "dimm", "disk"):
        serial = _json.text_of(body.get("SerialNumber"))
        if serial is not None:
            entity.ids["serial"] = _identity.serial(serial)
    if own_type in ("gpu", "system") and "UUID" in body:
        entity.ids["uuid"] = (_json.text_of(body.get("UUID")) or "").lower() or None
    if kind == "Temperatures":
        entity.values.update({"reading_units": "Cel", "reading_type": "temperature"})
    if kind == "Voltages":
        entity.values.update({"reading_units": "V", "reading_type": "voltage"})
    if own_type in ("sensor", "fan"):
        # Dell lists power-good signals, which have a health but no number, under Voltages.
        _check_reading(reading, entity, may_lack=kind == "Voltages")


def _check_reading(reading: Reading, entity: Entity, may_lack: bool) -> None:
    """Say why a sensor gives no value: it is not there, or it could not be read."""
    if entity.values.get("reading") is not None:
        return
    entity.values["reading"] = None
    if may_lack or entity.values.get("state") in _NO_READING_STATES:
        entity.notes["reading"] = "not_supported"
        return
    entity.notes["reading"] = "unreadable"
    reading.note(
        "unreadable_value",
        f"{entity.path} is not absent, but gives no reading",
        entity=entity.path,
        field="reading",
    )


_MISSING = object()


def _dig(body: dict[str, t.Any], where: str) -> t.Any:
    value: t.Any = body
    for key in where.split("/"):
        if not isinstance(value, dict) or key not in value:
            return _MISSING
        value = value[key]
    return value


def _convert(reader: str, value: t.Any) -> t.Any:
    if reader == "snake":
        return _snake(value)
    if reader == "bool":
        return value if isinstance(value, bool) else None
    if reader == "names":
        words = [_snake(one) for one in value] if isinstance(value, list) else []
        return [one for one in words if one is not None]
    if reader == "gen":
        found = re.match(r"^Gen([1-9])$", _json.text_of(value) or "")
        return int(found.group(1)) if found else None
    converters = {"int": _json.integer_of, "float": _json.number_of}
    return converters.get(reader, _json.text_of)(value)
