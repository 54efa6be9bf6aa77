"""The documents of `--json` as text for a person, where `trackbed.report` has no own form. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import fold_short

from trackbed.output import STATE_COLOURS, paint
from trackbed.report import render_steps
from trackbed.table import Paint, columns, plain, plural

Document = Mapping[str, Any]

_NODES_WIDTH = 36
_PROBLEM_WIDTH = 100


def site(document: Document, *, itemised: bool = True, colour: bool, width: int) -> str:
    """Return what a run that changes nodes came to; `itemised`: each setting by itself."""
    return render_steps(
        document["nodes"],
        document["failures"],
        document["changes"],
        check=bool(document.get("check")),
        itemised=itemised,
        colour=colour,
        width=width,
    )


def facts(document: Document, *, colour: bool, width: int) -> str:
    """Return what was read, nodes that answered alike on one line, and who did not answer.

    What a node's SKU does not have is left out: it is in the JSON.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    told = [one for one in document["documents"] if one["quality"] != "not_applicable"]
    for one in told:
        alike.setdefault(_observation(one), []).append(one["node"])
    rows = [[fold_short(names, _NODES_WIDTH), *row] for row, names in alike.items()]
    heads = ["nodes", "source", "tool", "quality", "found", "problem"]
    parts = ["\n".join(columns(heads, rows, _tint(colour)))] if rows else []
    if any(row["state"] not in ("ok", "changed") for row in document["nodes"]):
        parts.append(site({"changes": [], **document}, colour=colour, width=width).rstrip("\n"))
    read = {one["node"] for one in document["documents"]}
    parts.append(f"read {len(read):,} of {plural(len(document['nodes']), 'node')}")
    return "\n\n".join(parts) + "\n"


def runs(document: Document, *, colour: bool) -> str:
    """Return the list of runs."""
    heads = ["id", "verb", "state", "exit", "check", "started", "user", "nodes"]
    names = ["id", "verb", "state", "exit_code", "check", "started", "user", "nodes"]
    return _listed(heads, names, document["runs"], "no runs yet", colour=colour)


def run(document: Document, *, colour: bool, width: int) -> str:
    """Return one run."""
    one = document["run"]
    names = [
        *("id", "verb", "state", "exit_code", "says", "check", "started", "ended"),
        *("user", "controller", "command"),
    ]
    head = "\n".join(f"{name.replace('_', ' '):<11} {_cell(one[name])}" for name in names)
    return head + "\n\n" + site(one, colour=colour, width=width)


def status(document: Document, *, colour: bool) -> str:
    """Return how each node stands."""
    rows = [
        {
            "node": one["node"],
            "verdict": one["validate"]["state"] if one["validate"] else "never",
            "judged": one["validate"]["at"] if one["validate"] else None,
            "site": one["site"]["state"] if one["site"] else "never",
            "applied": one["site"]["at"] if one["site"] else None,
            "seen": one["seen"],
        }
        for one in document["nodes"]
    ]
    heads = ["node", "verdict", "judged", "site", "applied", "seen"]
    return _listed(heads, heads, rows, "the journal knows no node yet", colour=colour)


def settings(document: Document) -> str:
    """Return every setting with its source."""
    heads = ["setting", "value", "source"]
    return _listed(heads, heads, document["settings"], "", colour=False)


def _listed(
    heads: Sequence[str],
    names: Sequence[str],
    rows: Sequence[Document],
    nothing: str,
    *,
    colour: bool,
) -> str:
    if not rows:
        return nothing + "\n"
    cells = [[_cell(row[name]) for name in names] for row in rows]
    return "\n".join(columns(heads, cells, _tint(colour))) + "\n"


def _observation(document: Document) -> tuple[str, ...]:
    tool = document.get("tool") or {}
    kinds = Counter(
        entity["path"].partition("/")[2].partition(":")[0] or "node"
        for entity in document["entities"]
    )
    return (
        str(document["source"]),
        " ".join(part for part in (tool.get("name"), tool.get("version")) if part) or "-",
        str(document["quality"]),
        ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "-",
        _first_problem(document.get("problems") or []),
    )


def _first_problem(problems: Sequence[Document]) -> str:
    if not problems:
        return "-"
    rest = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    says = " ".join(str(problems[0]["says"]).split())
    cut = says if len(says) <= _PROBLEM_WIDTH else says[: _PROBLEM_WIDTH - 1] + "…"
    return cut + rest


def _tint(colour: bool) -> Paint:
    return (lambda word: paint(word, STATE_COLOURS.get(word, ""))) if colour else plain


def _cell(value: Any) -> str:
    if value is None or value in ("", []):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
