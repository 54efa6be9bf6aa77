# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule about events of the kernel log, by device. Private to trackbed.cluster.

All events of a device are judged as one: the gravest step counts, and what came with it is told.
Nobody resets a GPU for a clean-up message that follows the error of a job.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterator, Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _events
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import (
    Case,
    Check,
    need_document,
    other_vendor,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import Document
from ansible_collections.trackbed.cluster.plugins.plugin_utils._events import Meaning
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    PASS,
    UNKNOWN,
    WARN,
    Basis,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key

_NVIDIA = (
    "fallen_off_bus",
    "gpu_unusable",
    "init_failed",
    "probe_failed",
    "gsp_error",
    "api_mismatch",
    "peermem_error",
)
# What a check may look at -> which events those are.
ABOUT: Mapping[str, t.Callable[[str], bool]] = {
    "nvidia": lambda row: row.startswith("Xid ") or row in _NVIDIA,
    "nvswitch": lambda row: row.startswith("SXid "),
    "amd": lambda row: row.startswith("amd_"),
    "node": lambda row: " " not in row and not row.startswith("amd_") and row not in _NVIDIA,
}
_PLACES = {"nvidia": ("gpu", "GPU"), "amd": ("gpu", "GPU"), "nvswitch": ("nvswitch", "NVSwitch")}


@dataclasses.dataclass
class _Row:
    """One row of the catalogue that fired on a device."""

    meaning: Meaning
    count: int = 0


def wrong(params: Mapping[str, t.Any]) -> str | None:
    """Return what is wrong with a check's parameters, or None."""
    about = params["about"]
    return None if about in ABOUT else f"about: {about!r}; known: {', '.join(ABOUT)}"


def events(check: Check, case: Case) -> Iterator[Finding]:
    """Judge the events of each device in the kernel log."""
    for node in case.topology.nodes:
        document = other_vendor(check, case, node) or need_document(check, case, node.name)
        if isinstance(document, Finding):
            yield document
        else:
            yield from _judged(check, node.name, document)


def _judged(check: Check, node: str, document: Document) -> Iterator[Finding]:
    devices = _devices(check, document)
    told = [
        _finding(check, node, device, list(rows.values()), document)
        for device, rows in sorted(devices.items(), key=lambda one: natural_key(one[0]))
    ]
    grave = [one for one in told if one.verdict != PASS]
    yield from grave
    if grave:
        return
    more = {"evidence": document.evidence, "basis": Basis("book", "; ".join(check.sources))}
    if document.cut:
        says = f"The kernel log of {node} cannot be read to the end: {document.cut}."
        yield check.finding(node, UNKNOWN, says, action="repeat", **more)
        return
    noted = f" ({len(told)} noted that ask for nothing)" if told else ""
    says = f"The kernel log of {node} shows no {check.params['noun']}{noted}."
    yield check.finding(node, PASS, says, **more)


def _devices(check: Check, document: Document) -> dict[str, dict[str, _Row]]:
    """Return device -> row -> what fired; the device is "" where the event names none."""
    concerns = ABOUT[check.params["about"]]
    found: dict[str, dict[str, _Row]] = {}
    for thing in document.things.values():
        meaning = _events.load().meaning(thing.values) if thing.sort == "event" else None
        if meaning is None or not concerns(meaning.row):
            continue
        device = thing.text("device") or ""
        row = found.setdefault(device, {}).setdefault(
            f"{meaning.row} {meaning.step.name}", _Row(meaning)
        )
        row.count += thing.integer("count") or 1
    return found


def _finding(check: Check, node: str, device: str, rows: list[_Row], document: Document) -> Finding:
    ranked = sorted(rows, key=lambda one: (-one.meaning.step.rank, one.meaning.row))
    step = ranked[0].meaning.step
    sort, noun = _PLACES.get(check.params["about"], ("device", "device"))
    place = f"{noun} {device} of {node}" if device else node
    entity = f"{node}/{sort}:{device}" if device else node
    listed = ", ".join(_words(one) for one in ranked)
    return check.finding(
        entity,
        step.verdict,
        f"{place}: {listed}.",
        expected=f"no {check.params['noun']}",
        actual=", ".join(one.meaning.row for one in ranked),
        basis=Basis("book", f"events.yml: {ranked[0].meaning.row} -> {step.name}"),
        action=step.action or None,
        evidence=document.evidence,
        confidence=0.5 if step.verdict == WARN else None,
    )


def _words(row: _Row) -> str:
    times = f", {row.count:,} times" if row.count > 1 else ""
    meaning = row.meaning
    head = f"{meaning.row} ({meaning.says}{times})"
    return head if " " in meaning.row else f"{meaning.says}{times}"
