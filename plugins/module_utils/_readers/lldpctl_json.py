# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `lldpctl -f json` and `-f json0`: which switch port each interface sees.

Three shapes: `interface` is an object of interfaces, a list of such objects (so that
one interface can have several neighbours), or, in json0, a list of objects with a
`name`, in which every value is a list of `{"value": ...}`. `"lldp": {}` or `[{}]`
means that there is no neighbour.
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
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "lldpctl-json"
TITLE = "LLDP neighbours by lldpctl, JSON"
VERSIONS = "lldpd 0.9 to 1.0.19"
SOURCES = ("https://github.com/lldpd/lldpd",)
PROVEN = True
FIELDS = {
    "node": {"neighbour_count": Field(int, "neighbours of all interfaces; 0 is a value")},
    "neighbour": {
        "interface": Field(str, "own interface"),
        "switch_name": Field(str, "neighbour's name"),
        "switch_id": Field(str, "neighbour's chassis id, mostly a MAC"),
        "switch_description": Field(str, "neighbour's own description"),
        "management_addresses": Field(list, "its addresses"),
        "port": Field(str, "neighbour's port id"),
        "port_id_type": Field(str, "ifname, mac, local ..."),
        "port_description": Field(str, "neighbour's port description"),
        "protocol": Field(str, "LLDP, CDPv2 ..."),
        "age": Field(str, "how long it has been seen, as printed"),
    },
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 96 if re.search(r'^\s*\{\s*"lldp"\s*:\s*[\[{]', text) else 0


def read(data: Data) -> Reading:
    """Read one document; entities `neighbour:<interface>`, with `_2` for a second one."""
    reading = Reading(KIND)
    document = _json.load(data, reading)
    if not isinstance(document, dict) or "lldp" not in document:
        if not reading.problems:
            reading.note("other_format", "no `lldp` at the top")
        reading.quality = UNREADABLE
        return reading
    node = reading.add(Entity(""))
    for top in _json.dicts(document["lldp"]):
        for group in _json.dicts(top.get("interface")):
            if isinstance(group.get("name"), str):  # json0
                _neighbour(reading, group["name"], group)
                continue
            for name, bodies in group.items():
                for body in _json.dicts(bodies):
                    _neighbour(reading, name, body)
    node.values["neighbour_count"] = len(reading.entities) - 1
    return reading


def _neighbour(reading: Reading, interface: str, body: dict[str, t.Any]) -> None:
    base = "neighbour:" + (re.sub(r"[/:\s]", "_", interface) or "unnamed")
    path, count = base, 1
    while reading.entity(path) is not None and count < 64:
        count += 1
        path = f"{base}_{count}"
    entity = Entity(path)
    chassis = _one(body.get("chassis"))
    name = _text(chassis.get("name"))
    if name is None and "id" not in chassis and len(chassis) == 1:
        name = next(iter(chassis)).strip() or None
        chassis = _one(chassis.get(next(iter(chassis))))
    port = _one(body.get("port"))
    chassis_id, port_id = _one(chassis.get("id")), _one(port.get("id"))
    entity.values.update(
        {
            "interface": interface.strip() or None,
            "switch_name": name,
            "switch_id": _text(chassis_id.get("value")),
            "switch_description": _text(chassis.get("descr")),
            "management_addresses": _texts(chassis.get("mgmt-ip")),
            "port": _text(port_id.get("value")),
            "port_id_type": _text(port_id.get("type")),
            "port_description": _text(port.get("descr")),
            "protocol": _text(body.get("via")),
            "age": _text(body.get("age")),
        }
    )
    entity.ids["mac"] = _identity.mac(_text(chassis_id.get("value")))
    if entity.values["port"] is None:
        reading.note("missing_value", f"{path} names no port of its neighbour", entity=path)
    reading.add(entity)


def _one(value: t.Any) -> dict[str, t.Any]:
    return next(iter(_json.dicts(value)), {})


def _texts(value: t.Any) -> list[str]:
    found = [_text(one) for one in (value if isinstance(value, list) else [value])]
    return [one for one in found if one is not None]


def _text(value: t.Any) -> str | None:
    """Return the text of `"x"`, `{"value": "x"}` or `[{"value": "x"}]`."""
    if isinstance(value, list):
        value = value[0] if value else None
    return _json.text_of(value.get("value") if isinstance(value, dict) else value)
