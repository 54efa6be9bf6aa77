"""What a running node has set on its GPUs. Volatile settings end with the boot, InfoROM's do not.

/lab/run/gpus.json (in memory: gone at a boot)::

    fabric: {state, status}     # what the fabric manager has brought about; absent: it has not run
    gpus: {UUID: {persistence, power_limit_w, locked_graphics, locked_memory, compute_mode,
                  mig, ecc, ...}}

`mig` and `ecc` there are what runs, where that differs from what InfoROM says: a change of ECC
shows after a reset only. /var/lib/trackbed-lab/inforom.json holds {UUID: {ecc, mig}}.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .places import place

_VOLATILE = "/lab/run/gpus.json"
_INFOROM = "/var/lib/trackbed-lab/inforom.json"


def volatile() -> dict[str, Any]:
    """Return what ends with the boot."""
    return _read(place(_VOLATILE))


def inforom() -> dict[str, Any]:
    """Return what the GPUs' InfoROMs keep."""
    return _read(place(_INFOROM))


@contextmanager
def changing() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give both documents to be changed, (volatile, InfoROM), and write them; others wait."""
    paths = [place(_VOLATILE), place(_INFOROM)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    with paths[0].with_suffix(".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        documents = [_read(path) for path in paths]
        yield documents[0], documents[1]
        for path, document in zip(paths, documents):  # noqa: B905  (Python 3.9 runs this)
            other = path.with_suffix(".new")
            other.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            other.replace(path)


def of_gpu(document: dict[str, Any], uuid: str) -> dict[str, Any]:
    """Return the part of one GPU in the volatile document; it is made where there is none."""
    found: dict[str, Any] = document.setdefault("gpus", {}).setdefault(uuid, {})
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
