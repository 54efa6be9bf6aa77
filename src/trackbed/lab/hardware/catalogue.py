"""Read the lab's own hardware data: parts, SKUs, and the modules that the kernel has.

These files are the lab's alone. The product has its own SKU table, from its own sources, so
that a mistake in one does not hide the same mistake in the other.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trackbed.errors import UsageError
from trackbed.lab.hardware.model import PORT_TYPES, Adapter, Bar, Dimm, Part, Platform

_HERE = Path(__file__).resolve().parent
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PART_KEYS = frozenset(
    [
        "kind",
        "id",
        "class",
        "revision",
        "subsystem",
        "link",
        "max_payload",
        "payload",
        "read_request",
        "bars",
        "capabilities",
        "extended",
        "driver",
        "vpd",
        "adapter",
    ]
)
_SEAT_KEYS = frozenset(
    [
        "part",
        "block",
        "with",
        "at",
        "device",
        "function",
        "numa",
        "name",
        "slot",
        "runs_at",
        "ports",
    ]
)
_SKU_KEYS = frozenset({"schema", "title", "numa_cpus", "platform", "blocks", "tree"})


@dataclass(frozen=True)
class Seat:
    """A place in the tree of a SKU and the part that sits in it."""

    part: Part
    device: int
    function: int
    numa: int | None
    name: str | None
    slot: int | None
    runs_at: tuple[int, int] | None  # (generation, lanes) where not what the part can
    ports: tuple[Seat, ...]
    bus: int | None = None  # the root bus; below it buses are counted


@dataclass(frozen=True)
class Sku:
    """The tree of one kind of node."""

    name: str
    title: str
    numa_cpus: tuple[str, ...]
    platform: Platform
    tree: tuple[Seat, ...]


def skus() -> list[str]:
    """Return the names of the SKUs that the lab can make."""
    return sorted(path.stem for path in (_HERE / "skus").glob("*.yaml"))


@cache
def sku(name: str) -> Sku:
    """Return a SKU by name; raises UsageError with the list of names."""
    if name not in skus():
        raise UsageError(
            f"the lab has no SKU {name!r}", wanted=f"one of {', '.join(skus())}", remedy=""
        )
    where = f"skus/{name}.yaml"
    doc = _checked(_yaml(_HERE / where), _SKU_KEYS, where)
    blocks = doc.get("blocks", {})
    seats = tuple(_seat(entry, blocks, f"{where}: tree") for entry in doc["tree"])
    return Sku(name, doc["title"], tuple(doc["numa_cpus"]), platform(doc["platform"]), seats)


@cache
def parts() -> Mapping[str, Part]:
    """Return all parts by key."""
    found: dict[str, Part] = {}
    for path in sorted((_HERE / "parts").glob("*.yaml")):
        for key, entry in _yaml(path).items():
            found[key] = _part(key, _checked(entry, _PART_KEYS, f"parts/{path.name}: {key}"))
    return found


@cache
def platform(name: str) -> Platform:
    """Return a server by name: a file of platforms/."""
    doc = dict(_yaml(_HERE / "platforms" / f"{name}.yaml"))
    slots = doc.pop("dimms")
    dimms = [
        Dimm(
            slots["locator"].format(cpu=cpu, n=n), slots["bank"].format(cpu=cpu, n=n), slots["gib"]
        )
        for cpu in range(doc["sockets"])
        for n in range(slots["count"])
    ]
    return Platform(**{**doc, "bios_old": tuple(doc["bios_old"]), "dimms": tuple(dimms)})


@cache
def modules() -> tuple[str, ...]:
    """Return the names of the modules that the node's kernel package has (no vendor driver)."""
    return tuple(sorted(_yaml(_HERE / "modules.yaml")["modules"]))


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _checked(entry: Any, known: frozenset[str], where: str) -> Any:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise ValueError(f"{where}: unknown {', '.join(unknown)}")
    return entry


def _size(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]]


def _bars(entry: Mapping[int, str]) -> tuple[Bar, ...]:
    bars = []
    for index, text in entry.items():
        kind, size = text.split()
        bars.append(Bar(index, _size(size), kind))
    return tuple(bars)


def _capabilities(entry: Mapping[str, Any]) -> Mapping[str, Mapping[str, int]]:
    return {
        name: value if isinstance(value, Mapping) else {"at": value}
        for name, value in entry.items()
    }


def _part(key: str, entry: Mapping[str, Any]) -> Part:
    if entry["kind"] not in PORT_TYPES:
        raise ValueError(f"{key}: unknown kind {entry['kind']}")
    gen, width = entry.get("link") or (None, None)
    subsystem = entry.get("subsystem")
    vendor, device = entry["id"]
    return Part(
        key=key,
        kind=entry["kind"],
        vendor=vendor,
        device=device,
        device_class=entry["class"],
        revision=entry.get("revision", 0),
        subsystem=(subsystem[0], subsystem[1]) if subsystem else None,
        max_gen=gen,
        max_width=width,
        max_payload=entry.get("max_payload", 256),
        payload=entry.get("payload", 256),
        read_request=entry.get("read_request", 512),
        bars=_bars(entry.get("bars", {})),
        capabilities=_capabilities(entry.get("capabilities", {})),
        extended=_capabilities(entry.get("extended", {})),
        driver=entry.get("driver"),
        vpd=entry.get("vpd", {}),
        adapter=Adapter(**entry["adapter"]) if entry.get("adapter") else None,
    )


def _filled(value: Any, words: Mapping[str, Any]) -> Any:
    """Put the words of a block's use into its texts, at any depth."""
    if isinstance(value, str):
        return value.format(**words)
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    return value


def _seat(entry: Mapping[str, Any], blocks: Mapping[str, Any], where: str) -> Seat:
    entry = dict(_checked(entry, _SEAT_KEYS, where))
    if "block" in entry:
        words = entry.pop("with", {})
        body = _filled(copy.deepcopy(blocks[entry.pop("block")]), words)
        entry = {**_checked(body, _SEAT_KEYS, where), **entry}
    bus, device, function = None, entry.get("device", 0), entry.get("function", 0)
    if "at" in entry:  # BB:DD.F on a root bus
        text = entry["at"]
        bus, device, function = int(text[:2], 16), int(text[3:5], 16), int(text[6:])
    runs = entry.get("runs_at")
    return Seat(
        part=parts()[entry["part"]],
        device=device,
        function=function,
        numa=entry.get("numa"),
        name=entry.get("name"),
        slot=int(entry["slot"]) if "slot" in entry else None,
        runs_at=(runs[0], runs[1]) if runs else None,
        ports=tuple(_seat(child, blocks, where) for child in entry.get("ports", ())),
        bus=bus,
    )
