"""What a running node has set on its GPUs. Volatile settings end with the boot, InfoROM's do not.

/lab/run/gpus.json (in memory: gone at a boot)::

    fabric: {state, status}     # what the fabric manager has brought about; absent: it has not run
    gpus: {UUID: {persistence, power_limit_w, locked_graphics, locked_memory, compute_mode,
                  mig, ecc, ...}}

`mig` and `ecc` there are what runs, where that differs from what InfoROM says: a change of ECC
shows after a reset only. /var/lib/trackbed-lab/inforom.json holds {UUID: {ecc, mig}}.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import keeping

_VOLATILE = "/lab/run/gpus.json"
_INFOROM = "/var/lib/trackbed-lab/inforom.json"


def volatile() -> dict[str, Any]:
    """Return what ends with the boot."""
    return keeping.read(_VOLATILE)


def inforom() -> dict[str, Any]:
    """Return what the GPUs' InfoROMs keep."""
    return keeping.read(_INFOROM)


@contextmanager
def changing() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give both documents to be changed, (volatile, InfoROM), and write them; others wait."""
    with keeping.changing(_VOLATILE, _INFOROM) as (running, kept):
        yield running, kept


def of_gpu(document: dict[str, Any], uuid: str) -> dict[str, Any]:
    """Return the part of one GPU in the volatile document; it is made where there is none."""
    found: dict[str, Any] = document.setdefault("gpus", {}).setdefault(uuid, {})
    return found
