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
    },
    "gpu": {"device_id": Field(str, "PCI device id, hexadecimal")},
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
    found = reading.entity(path)
    if found is None:
        found = reading.add(Entity(path, values={"name": name, "category": category}))
        found.values.update({"status": None, "warnings": [], "error_ids": [], "info": []})
    return found


def put_status(reading: Reading, entity: Entity, word: str, line: int | None = None) -> None:
    """Set the status; what is no known word is kept as it is, and marked."""
    known = STATUSES.get(word.strip().lower())
    entity.values["status"] = known or word.strip() or None
    if known is None:
        entity.notes["status"] = "verbatim"
        where = {"line": line, "entity": entity.path, "field": "status", "verbatim": word}
        _plain.note(reading, "unknown_value", "not a status that is known", **where)


def extend(entity: Entity, name: str, values: t.Iterable[t.Any]) -> None:
    """Append to one of the lists of a test."""
    listed = entity.values[name]
    if isinstance(listed, list):
        listed += [one for one in values if one not in (None, "")][: _MAX_TEXTS - len(listed)]


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
