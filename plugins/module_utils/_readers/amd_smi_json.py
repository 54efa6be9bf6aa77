# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `amd-smi static|metric|list|monitor --json`.

The top level is a list in ROCm 6 and an object with `gpu_data` from ROCm 7 on.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _amd_gpu, _json
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "amd-smi-json"
TITLE = "AMD GPUs by amd-smi, JSON"
VERSIONS = "amd-smi of ROCm 6.0 to 10.1"
SOURCES = ("https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html",)
PROVEN = True
FIELDS = _amd_gpu.FIELDS


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r'^\s*\{\s*"gpu_data"\s*:', text):
        return 96
    return 95 if re.search(r'^\s*\[\s*\{\s*"gpu"\s*:\s*[0-9]', text) else 0


def read(data: Data) -> Reading:
    """Read one document; entities `gpu:N` and `gpu:N/clock:<engine>`."""
    reading = Reading(KIND)
    document = _json.load(data, reading)
    if document is None:
        return reading
    wrapped = isinstance(document, dict) and "gpu_data" in document
    rows = _json.dicts(document["gpu_data"] if wrapped else document)
    known = [row for row in rows if _json.integer_of(row.get("gpu")) is not None]
    if len(known) < len(rows):
        reading.note("missing_value", f"{len(rows) - len(known)} objects do not say which GPU")
    for row in known:
        _gpu(reading, row)
    if not known:
        _nothing(reading, document)
        return reading
    count = sum("/" not in one.path for one in reading.entities)
    reading.entities.insert(0, Entity("", values={"logical_gpu_count": count}))
    return reading


def _gpu(reading: Reading, row: dict[str, t.Any]) -> None:
    index = _json.integer_of(row.get("gpu"))
    entity = Entity(f"gpu:{index}")
    if reading.add(entity) is entity:
        _amd_gpu.fill(reading, entity, row)


def _nothing(reading: Reading, document: t.Any) -> None:
    """Say why there is no GPU: an empty list means none, anything else is another format."""
    if document in ([], {"gpu_data": []}):
        reading.note("missing_value", "amd-smi lists no GPU")
        reading.quality = ABSENT
    else:
        reading.note("other_format", "no object with a number of a GPU")
        reading.quality = UNREADABLE
