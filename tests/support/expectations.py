"""Compare a reading with what a person wrote down about the input.

Keys of an expectation, all optional but `quality`: `problems` (codes that must
be there), `count` (entity type -> how many; the type is the last `type:` of the
path), `values`, `ids`, `notes` (entity path -> name -> value; None means null).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading

KEYS = {"quality", "problems", "count", "values", "ids", "notes", "why"}


def entity_type(path: str) -> str:
    """Return `gpu` for `gpu:3`, `mig` for `gpu:1/mig:0`, `node` for the node itself."""
    if path.startswith("link:"):
        return "link"
    return path.rsplit("/", 1)[-1].split(":", 1)[0] if path else "node"


def differences(reading: Reading, expected: dict[str, Any]) -> list[str]:
    """Return one sentence per difference; empty where the reading is right."""
    unknown = set(expected) - KEYS
    assert not unknown, f"unknown keys in the expectation: {unknown}"
    found = []
    if reading.quality != expected["quality"]:
        found.append(
            f"quality {reading.quality}, not {expected['quality']}: {reading.problems[:3]}"
        )
    codes = {one.code for one in reading.problems}
    missing = [code for code in expected.get("problems", []) if code not in codes]
    if missing:
        found.append(f"problems {sorted(codes)} lack {missing}")
    counts = Counter(entity_type(one.path) for one in reading.entities)
    for kind, wanted in expected.get("count", {}).items():
        if counts[kind] != wanted:
            found.append(f"{counts[kind]} entities of type {kind}, not {wanted}")
    for part in ("values", "ids", "notes"):
        found += _part(reading, part, expected.get(part, {}))
    return found


def checked_values(expected: dict[str, Any]) -> int:
    """Return how many single readings this expectation pins down."""
    parts = [expected.get(part, {}) for part in ("values", "ids", "notes")]
    pinned = sum(len(names) for part in parts for names in part.values())
    return pinned + len(expected.get("count", {})) + len(expected.get("problems", [])) + 1


def _part(reading: Reading, part: str, wanted: dict[str, dict[str, Any]]) -> list[str]:
    found = []
    for path, names in wanted.items():
        entity = reading.entity(path)
        if entity is None:
            some = [one.path for one in reading.entities][:12]
            found.append(f"no entity {path!r} among {some}")
            continue
        have = getattr(entity, part)
        for name, value in names.items():
            if name not in have:
                found.append(f"{path!r} has no {part} {name}; it has {sorted(have)}")
            elif not _same(have[name], value):
                found.append(f"{path!r} {name} is {have[name]!r}, not {value!r}")
    return found


def _same(have: Any, wanted: Any) -> bool:
    if isinstance(have, bool) or isinstance(wanted, bool):
        return have is wanted
    if isinstance(have, float) and isinstance(wanted, (int, float)):
        return abs(have - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return have == wanted and (have is None) == (wanted is None)
