"""`nvidia-smi nvlink`: the links of each GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_CAPABILITIES = (
    "P2P is supported: true",
    "Access to system memory supported: true",
    "P2P atomics supported: true",
    "System memory atomics supported: true",
    "SLI is supported: true",
    "Link is supported: true",
)
_NO_LINKS = "Device does not have or support Nvlink"
_IN_MIG_MODE = "Nvlink queries are not supported for Devices in MIG mode"


def report(views: Sequence[Any], what: str) -> Iterator[str]:
    """Yield the lines of `nvlink -s`, `-e` or `-c`; `what` is the letter."""
    lines = {"s": _status, "e": _errors, "c": _capabilities}[what]
    for view in views:
        yield f"GPU {view['index']}: {view['name']} (UUID: {view['uuid']})"
        if view["now"]["mig"]:
            yield _IN_MIG_MODE
        elif not view["nvlink"]["links"]:
            yield _NO_LINKS
        else:
            yield from lines(view)


def _status(view: Any) -> Iterator[str]:
    for number, link in enumerate(view["nvlink"]["links"]):
        speed = f"{link['mb_s'] / 1000:g} GB/s" if link["state"] == "active" else "<inactive>"
        yield f"\t Link {number}: {speed}"


def _errors(view: Any) -> Iterator[str]:
    words = view["nvlink"]["counters"]
    for number, link in enumerate(view["nvlink"]["links"]):
        if link["state"] == "active":
            yield from (f"\t Link {number}: {words[k]}: {v}" for k, v in link["errors"].items())
        else:
            yield f"\t Link {number}: <inactive>"
        yield ""


def _capabilities(view: Any) -> Iterator[str]:
    for number, link in enumerate(view["nvlink"]["links"]):
        if link["state"] == "active":
            yield from (f"\t Link {number}, {line}" for line in _CAPABILITIES)
        else:
            yield f"\t Link {number}: <inactive>"
