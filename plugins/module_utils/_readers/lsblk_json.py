# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `lsblk --json`: disks and what is on them.

Sizes are bytes with `--bytes`, else rounded texts (`894.3G`), which are not kept.
Older ones write booleans as "0" and "1", and every size as text.
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

KIND = "lsblk-json"
TITLE = "Block devices by lsblk, JSON"
VERSIONS = "util-linux 2.27 to 2.41"
SOURCES = ("https://github.com/util-linux/util-linux",)
PROVEN = True
_BLOCK = {
    "type": Field(str, "disk, part, loop, lvm, raid1, crypt, rom ..."),
    "size_b": Field(int, "size; null where it was printed rounded", "B"),
    "size": Field(str, "size as printed, where it is rounded"),
    "rotational": Field(bool, "spins, or says so: virtual disks do"),
    "model": Field(str, "model"),
    "vendor": Field(str, "vendor"),
    "fs_type": Field(str, "file system"),
    "mountpoints": Field(list, "where it is mounted"),
    "parent": Field(str, "device that it lies on"),
}
FIELDS = {
    "node": {"top_count": Field(int, "devices that lie on no other")},
    "disk": _BLOCK,
    "block": _BLOCK,
}
_MAX_DEPTH = 20


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 96 if re.search(r'^\s*\{\s*"blockdevices"\s*:', text) else 0


def read(data: Data) -> Reading:
    """Read one document; entities `disk:<name>` for disks, else `block:<name>`."""
    reading = Reading(KIND)
    document = _json.as_dict(_json.load(data, reading))
    if "blockdevices" not in document:
        if not reading.problems:
            reading.note("other_format", "no `blockdevices` at the top")
        reading.quality = UNREADABLE
        return reading
    tops = _json.dicts(document["blockdevices"])
    reading.add(Entity("", values={"top_count": len(tops)}))
    for body in tops:
        _device(reading, body, None, 0)
    return reading


def _device(reading: Reading, body: dict[str, t.Any], parent: str | None, depth: int) -> None:
    name = _json.text_of(body.get("name")) or _json.text_of(body.get("kname"))
    if name is None:
        reading.note("missing_value", "a block device without its name")
        return
    short = re.sub(r"[/:\s]", "_", re.sub(r"^/dev/(?:mapper/)?", "", name)) or "unnamed"
    kind = _json.text_of(body.get("type"))
    path = f"{'disk' if kind == 'disk' else 'block'}:{short}"
    if reading.entity(path) is None:  # a RAID or a volume on several disks is listed below each
        reading.add(_entity(path, kind, parent, body))
    if depth < _MAX_DEPTH:
        for child in _json.dicts(body.get("children")):
            _device(reading, child, short, depth + 1)


def _entity(path: str, kind: str | None, parent: str | None, body: dict[str, t.Any]) -> Entity:
    entity = Entity(path)
    size = body.get("size")
    whole = _json.integer_of(size)
    mounts = body.get("mountpoints", [body.get("mountpoint")])
    texts = [_json.text_of(one) for one in mounts] if isinstance(mounts, list) else []
    rotational = body.get("rota")
    entity.values.update(
        {
            "type": kind,
            "size_b": whole,
            "rotational": {"0": False, "1": True}.get(str(rotational), rotational is True)
            if rotational is not None
            else None,
            "model": _json.text_of(body.get("model")),
            "vendor": _json.text_of(body.get("vendor")),
            "fs_type": _json.text_of(body.get("fstype")),
            "mountpoints": [one for one in texts if one is not None],
            "parent": parent,
        }
    )
    if whole is None and isinstance(size, str):
        entity.values["size"] = size.strip() or None
        entity.notes["size"] = "rounded"
    entity.ids["serial"] = _identity.serial(_json.text_of(body.get("serial")))
    wwn = _json.text_of(body.get("wwn"))
    entity.ids["wwn"] = wwn.lower() if wwn else None
    return entity
