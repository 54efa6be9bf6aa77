"""The GPU models that the lab knows: what a driver says of each, read from gpus/*.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trackbed.lab.hardware.facts import merged

_GPUS = Path(__file__).resolve().parent / "gpus"
_COMMON, _COUNTERS = "common", "counters"
_KEYS = frozenset(
    ["schema", "part", "module_ids", "fabric_guids", "readings", "tlimit_zero_c", "facts"]
)


@dataclass(frozen=True)
class GpuModel:
    """One GPU model; `facts` has the layout of a GPU in machine.json."""

    name: str
    part: str  # the key of its PCI part
    module_ids: tuple[int, ...]  # in bus order
    fabric_guids: bool
    readings: Mapping[str, tuple[float, float]]  # path -> range of a steady value
    tlimit_zero_c: int | None  # GPU temperature at which the margin is 0; None: no margins
    facts: Mapping[str, Any]


@cache
def gpu_models() -> Mapping[str, GpuModel]:
    """Return the models by the key of their PCI part."""
    found = {}
    for path in sorted(_GPUS.glob("*.yaml")):
        if path.stem not in (_COMMON, _COUNTERS):
            model = _model(path)
            found[model.part] = model
    return found


@cache
def link_counters(kind: str) -> Mapping[str, str]:
    """Return the error counters of a kind of NVLink: key -> the vendor's words."""
    found: Mapping[str, str] = _yaml(_GPUS / f"{_COUNTERS}.yaml")[kind]
    return found


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _model(path: Path) -> GpuModel:
    doc = _yaml(path)
    unknown = sorted(set(doc) - _KEYS)
    if unknown:
        raise ValueError(f"gpus/{path.name}: unknown {', '.join(unknown)}")
    return GpuModel(
        name=path.stem,
        part=doc["part"],
        module_ids=tuple(doc["module_ids"]),
        fabric_guids=doc.get("fabric_guids", False),
        readings={key: (low, high) for key, (low, high) in doc["readings"].items()},
        tlimit_zero_c=doc["tlimit_zero_c"],
        facts=merged(_yaml(_GPUS / f"{_COMMON}.yaml"), doc["facts"]),
    )
