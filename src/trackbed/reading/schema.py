"""The JSON schema of a reading, and docs/readings.md, both made from the readers' catalogues."""

from __future__ import annotations

from typing import Any

from ansible_collections.trackbed.cluster.plugins.module_utils import _reading
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field
from ansible_collections.trackbed.cluster.plugins.plugin_utils._kinds import Kind

_JSON_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_INTRODUCTION = """\
# Readings

What Trackbed understands of the tools on a GPU node. This page is made by `make docs` from the
readers themselves (`plugins/module_utils/_readers/`).

A reading has a *kind*, a *quality* (`{qualities}`), *problems* (code, what was found and
expected, line) and *entities*. An entity has a path (`gpu:3`, `nic:mlx5_0/port:1`; the node
itself is the empty path), identities, values and notes. **Missing is null, never 0 and never
"".** Units are in the names. A note says what the format did to a value:

{notes}

Codes of problems:

{codes}

`trackbed read FILE…` recognises the kind by content; `trackbed read --kinds` lists what
follows; `trackbed read --schema KIND` prints the JSON schema of a kind. *Unproven* means that
the reader does not rest on real outputs of at least two public sources.

| Kind | What | Versions seen | Proven |
|---|---|---|---|
{table}
"""


def schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the readings of this kind."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.title,
        "type": "object",
        "required": ["kind", "quality", "problems", "entities", "tool_name", "tool_version"],
        "properties": {
            "kind": {"const": kind.name},
            "quality": {"enum": list(_reading.QUALITIES)},
            "tool_name": {"type": ["string", "null"]},
            "tool_version": {"type": ["string", "null"]},
            "problems": {"type": "array", "items": _problem()},
            "entities": {"type": "array", "items": {"$ref": "#/$defs/entity"}},
        },
        "$defs": {"entity": _entity(), **{name: _values(kind, name) for name in kind.fields}},
    }


def page(kinds: dict[str, Kind]) -> str:
    """Return docs/readings.md."""
    rows = [
        f"| [`{kind.name}`](#{_anchor(kind.name)}) | {_cell(kind.title)} | {_cell(kind.versions)} "
        f"| {'yes' if kind.proven else 'unproven'} |"
        for kind in kinds.values()
    ]
    introduction = _INTRODUCTION.format(
        qualities="`, `".join(_reading.QUALITIES),
        notes="\n".join(f"* `{name}`: {says}" for name, says in _reading.NOTES.items()),
        codes="\n".join(f"* `{name}`: {says}" for name, says in _reading.PROBLEM_CODES.items()),
        table="\n".join(rows),
    )
    return introduction + "".join(_section(kind) for kind in kinds.values())


def _problem() -> dict[str, Any]:
    texts = {name: {"type": ["string", "null"]} for name in ("entity", "field", "verbatim")}
    return {
        "type": "object",
        "required": ["code", "says"],
        "properties": {
            "code": {"enum": list(_reading.PROBLEM_CODES)},
            "says": {"type": "string"},
            "line": {"type": ["integer", "null"]},
            **texts,
        },
    }


def _entity() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["path", "ids", "values", "notes"],
        "properties": {
            "path": {"type": "string"},
            "ids": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            "values": {"type": "object"},
            "notes": {"type": "object", "additionalProperties": {"enum": list(_reading.NOTES)}},
        },
    }


def _values(kind: Kind, entity: str) -> dict[str, Any]:
    """Return the schema of the values of one type of entity."""
    properties = {name: _field(field) for name, field in sorted(kind.fields[entity].items())}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _field(field: Field) -> dict[str, Any]:
    found: dict[str, Any] = {"type": [_JSON_TYPES[field.type], "null"], "description": field.says}
    if field.unit:
        found["description"] += f" [{field.unit}]"
    if field.values:
        # Not an enum: a word that we do not know is kept verbatim, with a note.
        found["examples"] = list(field.values)
    return found


def _section(kind: Kind) -> str:
    lines = [f"\n## {kind.name}\n", f"{kind.title}. Versions seen: {kind.versions}.\n"]
    lines.append("Sources: " + "; ".join(kind.sources) + ".\n")
    lines += ["| Entity | Value | Type | Meaning |", "|---|---|---|---|"]
    for entity, fields in kind.fields.items():
        for name, field in sorted(fields.items()):
            unit = f" ({field.unit})" if field.unit else ""
            words = f": {', '.join(f'`{one}`' for one in field.values)}" if field.values else ""
            says = _cell(field.says + unit + words)
            lines.append(f"| {entity} | `{name}` | {_JSON_TYPES[field.type]} | {says} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _anchor(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum() or char in "-_")
