"""The verb `read`: understand files that somebody sent. Needs no inventory and no journal."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible_collections.trackbed.cluster.plugins.module_utils import _evidence
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _book, _kinds, _names
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_LEVEL,
    EXIT_NOT_LEVEL,
    EXIT_PARTIAL,
    FAIL,
    SKIP,
    UNKNOWN,
    WARN,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._judge import judge
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import EMPTY
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

from trackbed.cli.summary import SCHEMA
from trackbed.errors import UsageError
from trackbed.output import Output
from trackbed.reading import intake, render, schema
from trackbed.reading.result import Outcome, outcome
from trackbed.report import render_table
from trackbed.table import columns

# The files of one call are taken to be of one node, unless --node says its name.
_NODE = "node"
# Where the width of the terminal is not known (a pipe, a file).
_WIDTH = 100


def read(args: argparse.Namespace, output: Output) -> int:
    """Read files, or list kinds, or print a schema."""
    if args.kinds:
        return _kinds_table(output)
    if args.schema:
        output.out.write(json.dumps(schema.schema(_kind(args.schema)), indent=2) + "\n")
        return EXIT_LEVEL
    if not args.files:
        raise UsageError(
            "no file was named",
            wanted="files, directories or archives",
            remedy="trackbed read nvidia-bug-report.log.gz",
        )
    if args.kind:
        _kind(args.kind)
    return _read_files(args, output)


def _read_files(args: argparse.Namespace, output: Output) -> int:
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    outcomes, unknown = [], 0
    for one in _outcomes(args):
        outcomes.append(one)
        if one.reading is None and not one.item.explicit and not one.item.trouble:
            unknown += 1  # most files of a bundle are none of ours
        else:
            output.text(render.outcome_text(one, width))
    if unknown:
        output.text(f"{unknown} more files were not recognised")
    documents = _documents(outcomes, args.node or _NODE)
    topology = _topology(documents, args.sku)
    told = _findings(documents, topology)
    if told:
        output.text("\n" + render_table(told, topology, colour=output.colour, width=width))
    code = _code(outcomes, told)
    if code == EXIT_PARTIAL:
        output.text("Not everything could be read or judged: the lines with ! say what.")
    output.emit(
        {
            "schema": SCHEMA,
            "verb": "read",
            "exit_code": code,
            "files": [one.as_dict() for one in outcomes],
            "findings": [one.as_dict() for one in told],
        }
    )
    return code


def _outcomes(args: argparse.Namespace) -> Iterator[Outcome]:
    for item in intake.items([Path(one) for one in args.files]):
        yield outcome(item, args.kind)


def _documents(outcomes: list[Outcome], node: str) -> dict[str, list[dict[str, Any]]]:
    """Return the readings as the documents of one node.

    A node gives one document of a kind. What comes a second time is judged by itself, under the
    name of its file: it is of another node, or of another day.
    """
    started = _evidence.utc_now()
    found: dict[str, list[dict[str, Any]]] = {node: []}
    for one in outcomes:
        if one.reading is None or not one.reading.entities:
            continue
        taken = {document["source"] for document in found[node]}
        name = node if one.reading.kind not in taken else one.item.name.replace("/", "_")
        document = _evidence.document(one.reading, name, started, 0.0, None)
        found.setdefault(name, []).append(document)
    return {name: documents for name, documents in found.items() if documents}


def _findings(documents: dict[str, list[dict[str, Any]]], topology: Topology) -> list[Finding]:
    """Judge what was read; what would need other files, or a SKU, stays unsaid."""
    read = {(name, one["source"]) for name, given in documents.items() for one in given}
    reads = {check.id: check.reads for check in _book.load().checks}
    return [
        one
        for one in judge(documents, {}, topology, _book.load(), EMPTY)
        if one.verdict != SKIP
        and one.action != "name_sku"
        and any((one.node, source) in read for source in reads[one.check])
    ]


def _topology(nodes: Iterable[str], sku: str | None) -> Topology:
    book = _book.load()
    if sku is not None and sku not in book.skus:
        raise UsageError(
            f"unknown SKU {sku!r}",
            wanted=_names.meant(sku, book.skus),
            remedy="correct --sku, or leave it out",
        )
    names = list(nodes)
    return Topology.from_hostvars(
        {one: {"trackbed_sku": sku} if sku else {} for one in names}, names
    )


def _code(outcomes: list[Outcome], findings: list[Finding]) -> int:
    if any(one.verdict in (FAIL, WARN) for one in findings):
        return EXIT_NOT_LEVEL
    read_well = [one for one in outcomes if one.reading is not None]
    troubled = any(one.item.trouble or one.also for one in outcomes)
    unread = any(one.reading is None and one.item.explicit for one in outcomes)
    partial = any(one.reading.quality != "ok" for one in read_well if one.reading)
    partial = partial or any(one.verdict == UNKNOWN for one in findings)
    return EXIT_PARTIAL if troubled or unread or partial or not read_well else EXIT_LEVEL


def _kind(name: str) -> _kinds.Kind:
    known = _kinds.kinds()
    if name not in known:
        raise UsageError(
            f"unknown kind {name!r}",
            wanted=_names.meant(name, known),
            remedy="correct it, or leave --kind out: the content usually tells",
        )
    return known[name]


def _kinds_table(output: Output) -> int:
    known = _kinds.kinds().values()
    rows = [[one.name, one.title, one.versions, "" if one.proven else "unproven"] for one in known]
    output.text("\n".join(columns(["KIND", "WHAT", "VERSIONS SEEN", ""], rows)))
    kinds = [
        {
            "kind": one.name,
            "title": one.title,
            "versions": one.versions,
            "proven": one.proven,
            "sources": list(one.sources),
        }
        for one in known
    ]
    output.emit({"schema": SCHEMA, "verb": "read", "exit_code": EXIT_LEVEL, "kinds": kinds})
    return EXIT_LEVEL
