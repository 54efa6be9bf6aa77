# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of DCGM's diagnostics share: names, statuses, results by test and GPU.

Private to trackbed.cluster. Source: NVIDIA/DCGM, dcgmi/Diag.cpp and
testing/python3/dcgm_diag_schema.json.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)

STATUSES = {
    "pass": "pass",
    "fail": "fail",
    "warn": "warn",
    "warning": "warn",
    "skip": "skip",
    "skipped": "skip",
    "not run": "not_run",
    "notrun": "not_run",
}
# What one test says as a whole: the first of these that any of its results has.
_WORST = ("fail", "warn", "pass", "skip", "not_run")
FIELDS = {
    "node": {
        "dcgm_version": Field(str, "version of DCGM"),
        "driver_version": Field(str, "driver that is loaded"),
        "test_count": Field(int, "tests that are told of"),
        "failed_tests": Field(list, "tests that failed, on any GPU"),
        "warned_tests": Field(list, "tests that warned and did not fail"),
        "runtime_error": Field(str, "why the diagnostic did not run, or not to its end"),
        "gpu_device_ids": Field(list, "PCI device ids of the GPUs, in the order of the GPUs"),
        "eud_version": Field(str, "version of the extended utility diagnostics"),
        "info_count": Field(int, "further texts in all; at least that many where DCGM 4 has 16"),
        "run_count": Field(int, "how often the tests ran: --iterations, or several outputs"),
    },
    "gpu": {"device_id": Field(str, "PCI device id, hexadecimal")},
    "cpu": {"device_id": Field(str, "device id, as printed")},
    "test": {
        "name": Field(str, "name of the test, as printed"),
        "category": Field(str, "category, as printed"),
        "status": Field(str, "result", values=tuple(sorted(set(STATUSES.values())))),
        "warnings": Field(list, "texts of warnings"),
        "error_ids": Field(list, "DCGM's numbers of these warnings"),
        "info": Field(list, "further texts"),
    },
}
_MAX_TEXTS = 100


def key_of(name: str) -> str:
    """Return the part of a path that stands for a test: `page_retirement_row_remap`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:80] or "unnamed"


def test(reading: Reading, name: str, category: str | None, gpu: str = "") -> Entity:
    """Return the entity of a test, of the node or of one GPU, made where it is not there."""
    path = f"{gpu + '/' if gpu else ''}test:{key_of(name)}"
    found = reading.added(path)
    if found is None:
        found = reading.add(Entity(path, values={"name": name, "category": category}))
        found.values.update({"status": None, "warnings": [], "error_ids": [], "info": []})
    return found


def put_status(reading: Reading, entity: Entity, word: str, line: int | None = None) -> None:
    """Set the status, or the worse of two; what is no known word is kept, and marked.

    DCGM 4 prints no word for what did not run.
    """
    known = STATUSES.get(word.strip().lower(), None if word.strip() else "not_run")
    before = entity.values["status"]
    if known is None:
        where = {"line": line, "entity": entity.path, "field": "status", "verbatim": word}
        _plain.note(reading, "unknown_value", "not a status that is known", **where)
        if before is None:
            entity.values["status"] = word.strip()
            entity.notes["status"] = "verbatim"
    elif before in _WORST:
        entity.values["status"] = min(known, str(before), key=_WORST.index)
    elif before is None or known == "fail":
        entity.values["status"] = known
        entity.notes.pop("status", None)


def extend(entity: Entity, name: str, values: t.Iterable[t.Any]) -> None:
    """Append to one of the lists of a test."""
    listed = entity.values[name]
    if isinstance(listed, list):
        listed += [one for one in values if one not in (None, "")][: _MAX_TEXTS - len(listed)]


def device_ids(text: str) -> list[str]:
    """Return the ids of `2330, 2330,2330`; one that was cut is left out."""
    return [one for one in re.split(r"[,\s]+", text) if re.match(r"^[0-9A-Fa-f]{4}$", one)]


def summarise(entity: Entity, statuses: t.Iterable[t.Any]) -> None:
    """Set the status of a test from those of its results."""
    there = set(statuses)
    entity.values["status"] = next((one for one in _WORST if one in there), None)


def finish(reading: Reading, node: Entity) -> None:
    """Put the counts and names of all tests into the node, and the node first."""
    tests = [one for one in reading.entities if one.path.startswith("test:")]
    node.values["test_count"] = len(tests)
    for name, status in (("failed_tests", "fail"), ("warned_tests", "warn")):
        found = [one.values["name"] for one in tests if one.values["status"] == status]
        node.values[name] = list(found)
    reading.entities.insert(0, node)
    version = node.values.get("dcgm_version")
    reading.tool_version = version if isinstance(version, str) else None
    if node.values.get("runtime_error"):
        says = "the diagnostic reported an error of its own"
        verbatim = str(node.values["runtime_error"])
        _plain.note(reading, "tool_error", says, verbatim=verbatim)
        if not tests:
            reading.quality = ERROR
