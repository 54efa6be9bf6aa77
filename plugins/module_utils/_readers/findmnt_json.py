# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `findmnt -J` with any columns: what is mounted where.

Format: `filesystems`, a tree by `children` or a list. Sizes are exact with -b, else rounded.
An entity's name is its mount point as systemd writes it: `/` is `-`, `/var/lib` is `var-lib`,
a dash is `\\x2d`. Versions: util-linux 2.27 to 2.41. Source: findmnt(8).
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "findmnt-json"
TITLE = "Mounted file systems by findmnt, JSON"
VERSIONS = "util-linux 2.27 to 2.41"
SOURCES = (
    "https://github.com/util-linux/util-linux/issues/1136",
    "https://github.com/kellyjonbrazil/jc/issues/302",
    "findmnt(8) of util-linux 2.38, run on Debian 12",
)
PROVEN = True
FIELDS = {
    "node": {"mount_count": Field(int, "mounts listed")},
    "mount": {
        "target": Field(str, "mount point"),
        "source": Field(str, "device, export or file system that is mounted"),
        "fs_type": Field(str, "file system"),
        "options": Field(list, "options in force"),
        "read_only": Field(bool, "mounted read-only"),
        "size_b": Field(int, "size; null where it was printed rounded", "B"),
        "used_b": Field(int, "used; null where it was printed rounded", "B"),
        "available_b": Field(int, "available; null where it was printed rounded", "B"),
        "size": Field(str, "size as printed, where it is rounded"),
        "used": Field(str, "used, as printed, where it is rounded"),
        "available": Field(str, "available, as printed, where it is rounded"),
        "used_pct": Field(int, "used", "%"),
        "label": Field(str, "label of the file system"),
        "parent": Field(str, "mount point that it lies in"),
    },
}
_TEXTS = {"target": "target", "source": "source", "fstype": "fs_type", "label": "label"}
_SIZES = {"size": "size", "used": "used", "avail": "available"}
_DASH = "\\x2d"
_MAX_DEPTH = 64
_MAX_MOUNTS = 2000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    found = re.search(r'"filesystems"\s*:\s*\[', text[:20000])
    columns = re.search(r'"(?:target|fstype|source|options)"\s*:', text)
    if not found:
        return 0
    return 96 if columns else 85


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `mount:<mount point>`."""
    reading = Reading(KIND, tool_name="findmnt")
    documents, others = _json_docs.split(data)
    for number, line in others:
        _plain.malformed(reading, number, line, "a line of findmnt -J")
    found = False
    seen: Counter[str] = Counter()
    for document in documents:
        body = _json.as_dict(_json.load(document.text, reading))
        if "filesystems" not in body:
            continue
        found = True
        for one in _json.dicts(body["filesystems"]):
            _mount(reading, one, None, 0, seen)
    if found:
        count = len(reading.entities)
        reading.entities.insert(0, Entity("", values={"mount_count": count}))
    return _json_docs.settle(reading, '`"filesystems": [`')


def _mount(
    reading: Reading,
    body: dict[str, t.Any],
    parent: str | None,
    depth: int,
    seen: Counter[str],
) -> None:
    if len(reading.entities) >= _MAX_MOUNTS:
        if reading.problems[-1:] == [] or reading.problems[-1].code != "limited":
            reading.note("limited", f"more than {_MAX_MOUNTS} mounts")
        return
    target = _json.text_of(body.get("target"))
    entity = reading.add(Entity(_path(seen, target)))
    _columns(entity, body)
    entity.values["parent"] = parent
    if target is None and "target" in body:
        _plain.note(reading, "missing_value", "a mount without mount point", entity=entity.path)
    if depth < _MAX_DEPTH:
        for child in _json.dicts(body.get("children")):
            _mount(reading, child, target, depth + 1, seen)


def _columns(entity: Entity, body: dict[str, t.Any]) -> None:
    for label, name in _TEXTS.items():
        if label in body:
            entity.values[name] = _json.text_of(body[label])
    options = _json.text_of(body.get("options")) or _json.text_of(body.get("vfs-options"))
    if options is not None:
        words = options.split(",")
        entity.values["options"] = list(words)
        entity.values["read_only"] = "ro" in words if {"ro", "rw"} & set(words) else None
    for label, name in _SIZES.items():
        if label in body:
            _size(entity, name, body[label])
    if "use%" in body:
        used = re.match(r"^([0-9]{1,3})%$", _json.text_of(body["use%"]) or "")
        entity.values["used_pct"] = int(used.group(1)) if used else None
    entity.ids["uuid"] = _json.text_of(body.get("uuid"))


def _path(seen: Counter[str], target: str | None) -> str:
    """Return the entity's path; a mount point that is mounted over has `_2` and so on."""
    word = (target or str(sum(seen.values()))).strip("/")
    path = f"mount:{re.sub(r'/+', '-', word.replace('-', _DASH)) or '-'}"
    seen[path] += 1
    return path if seen[path] == 1 else f"{path}_{seen[path]}"


def _size(entity: Entity, name: str, value: t.Any) -> None:
    whole = _json.integer_of(value)
    entity.values[f"{name}_b"] = whole
    text = _json.text_of(value)
    if whole is None and text is not None:
        entity.values[name] = text
        entity.notes[name] = "rounded"
