"""Documents that a node keeps between two calls of a stand-in. One writer at a time."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .places import place


def read(path: str) -> dict[str, Any]:
    """Return a document; an empty one where there is none yet, or none that can be read."""
    try:
        found = json.loads(place(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def changing(*paths: str) -> Iterator[tuple[dict[str, Any], ...]]:
    """Give the documents to be changed, and write them; others wait at the first one's lock."""
    places = [place(path) for path in paths]
    for found in places:
        found.parent.mkdir(parents=True, exist_ok=True)
    with places[0].with_suffix(".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        documents = tuple(read(path) for path in paths)
        yield documents
        for found, document in zip(places, documents):  # noqa: B905  (Python 3.9 runs this)
            _write(found, document)


def _write(path: Path, document: dict[str, Any]) -> None:
    other = path.with_suffix(".new")
    other.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    other.replace(path)
