# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of one AMD GPU, from amd-smi's JSON or the tree of its text. Private to trackbed.cluster.

Both forms hold the same keys. A value is `{"value": 140, "unit": "W"}`, `140 W`, a
bare number, or `N/A`. **amd-smi's MB of VRAM is MiB**: an MI300X has 192 GiB and
shows about 196300 MB. Source: amd-smi CLI of ROCm 6.0 to 10.1.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

# (value name, places, kind, what it says). Places: keys with `/` and `|`, newest first.
_Row = t.Tuple[str, str, str, str]
ROWS: tuple[_Row, ...] = (
    ("name", "asic/market_name|board/product_name", "str", "name"),
    ("driver_version", "driver/version|driver/driver_version", "str", "amdgpu driver"),
    ("vbios_version", "ifwi/version|vbios/version|ifwi/part_number", "str", "VBIOS or IFWI"),
    ("compute_partition", "partition/accelerator_partition|partition/compute_partition", "str", ""),
    ("memory_partition", "partition/memory_partition", "str", "NPS1, NPS4 ..."),
    ("power_draw_w", "power/socket_power|power/current_socket_power|power_usage|power", "w", ""),
    ("power_limit_w", "limit/ppt0/socket_power_limit|limit/socket_power|limit/power_cap", "w", ""),
    ("power_management", "power/power_management", "snake", "enabled or disabled"),
    ("throttle_status", "power/throttle_status", "snake", "unthrottled, throttled"),
    ("edge_temperature_c", "temperature/edge|temperature/edge_temperature", "c", "edge"),
    (
        "temperature_c",
        "temperature/hotspot|temperature/hotspot_temperature|hotspot_temperature|gpu_temp|gpu_t",
        "c",
        "hot spot (junction)",
    ),
    (
        "memory_temperature_c",
        "temperature/mem|temperature/mem_temperature|memory_temperature|mem_temp|mem_t",
        "c",
        "hottest HBM",
    ),
    ("utilization_gpu_pct", "usage/gfx_activity|usage/gfx_usage|gfx|gfx%", "pct", "graphics core"),
    ("utilization_memory_pct", "usage/umc_activity|usage/mem_usage|mem|mem%", "pct", "memory"),
    ("pcie_width", "pcie/width|pcie/current_width|pcie/current_lanes", "int", "lanes now"),
    ("pcie_speed_gt_s", "pcie/speed|pcie/current_speed", "gt", "speed of a lane now"),
    ("pcie_max_width", "bus/max_pcie_width|bus/max_pcie_lanes", "int", "most lanes"),
    ("pcie_max_speed_gt_s", "bus/max_pcie_speed", "gt", "highest speed of a lane"),
    ("pcie_replay_count", "pcie/replay_count|pcie_replay", "int", "replays"),
    ("pcie_l0_to_recovery_count", "pcie/l0_to_recovery_count", "int", "retrainings"),
    ("pcie_replay_rollover_count", "pcie/replay_roll_over_count", "int", "replay roll-overs"),
    ("pcie_nak_sent_count", "pcie/nak_sent_count", "int", "NAKs sent"),
    ("pcie_nak_received_count", "pcie/nak_received_count", "int", "NAKs received"),
    ("ecc_correctable_count", "ecc/total_correctable_count|single_bit_ecc|single_ecc", "int", ""),
    (
        "ecc_uncorrectable_count",
        "ecc/total_uncorrectable_count|double_bit_ecc|double_ecc",
        "int",
        "",
    ),
    ("ecc_deferred_count", "ecc/total_deferred_count", "int", ""),
    ("cache_ecc_correctable_count", "ecc/cache_correctable_count", "int", ""),
    ("cache_ecc_uncorrectable_count", "ecc/cache_uncorrectable_count", "int", ""),
    ("ecc_state", "ras/ecc_block_state/umc|ras/ecc_block_state/UMC", "snake", "ECC of the memory"),
    ("memory_total_mib", "mem_usage/total_vram|vram/size|vram_total", "mib", "VRAM"),
    ("memory_used_mib", "mem_usage/used_vram|vram_used", "mib", "VRAM in use"),
    ("memory_vendor", "vram/vendor|vram/vram_vendor", "str", "maker of the memory"),
    ("power_violation_pct", "pviol", "pct", "time held down by power"),
    ("thermal_violation_pct", "tviol", "pct", "time held down by heat"),
    ("prochot_violation_pct", "phot_tviol", "pct", "time held down by PROCHOT"),
    ("vr_thermal_violation_pct", "vr_tviol", "pct", "time held down by hot regulators"),
    ("hbm_thermal_violation_pct", "hbm_tviol", "pct", "time held down by hot HBM"),
)
_UNITS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "w": ("W", ("w", "")),
    "c": ("°C", ("c", "°c", "")),
    "pct": ("%", ("%", "")),
    "gt": ("GT/s", ("gt/s", "")),
    "mib": ("MiB", ("mb", "mib", "")),
    "mhz": ("MHz", ("mhz", "")),
    "int": (None, ("",)),
}
_WHOLE = {"int", "mib", "mhz"}
_TYPES = {"str": str, "snake": str}
_CLOCKS = (
    ("clock_mhz", "clk|cur_clk", "mhz", "clock now"),
    ("min_clock_mhz", "min_clk", "mhz", "lowest clock"),
    ("max_clock_mhz", "max_clk", "mhz", "highest clock"),
    ("clock_locked", "clk_locked", "snake", "enabled: the clock is held"),
    ("deep_sleep", "deep_sleep", "snake", "enabled: asleep, or may sleep"),
)


def _field(kind: str, says: str) -> Field:
    number_type = int if kind in _WHOLE else float
    return Field(_TYPES.get(kind, number_type), says, _UNITS.get(kind, (None,))[0])


FIELDS: dict[str, dict[str, Field]] = {
    "node": {
        "logical_gpu_count": Field(int, "GPUs as amd-smi counts them: each partition is one"),
    },
    "gpu": {name: _field(kind, says or name) for name, _where, kind, says in ROWS},
    "clock": {name: _field(kind, says) for name, _where, kind, says in _CLOCKS},
}
_NUMBER = re.compile(r"^(-?[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(\S{0,8})$")
_MISSING = object()


def fill(reading: Reading, entity: Entity, body: dict[str, t.Any]) -> None:
    """Put what `body` holds of this GPU, its identities, and its clocks as `<gpu>/clock:<name>`."""
    _put(reading, entity, ROWS, body)
    pci = _first(body, "bus/bdf|bdf|bus/pcie_bdf")
    serial = _first(body, "asic/asic_serial|board/product_serial|asic/serial")
    uuid = _first(body, "uuid|asic/uuid")
    if pci is not _MISSING:
        entity.ids["pci"] = _identity.pci_address(_json.text_of(pci))
    if serial is not _MISSING:
        entity.ids["serial"] = _identity.serial(_json.text_of(serial))
    if uuid is not _MISSING:
        word = _json.text_of(uuid)
        entity.ids["uuid"] = word.lower() if word and absence(word) is None else None
    for name, clock in list(_json.as_dict(body.get("clock")).items())[:200]:
        if isinstance(clock, dict) and name:
            part = Entity(f"{entity.path}/clock:{re.sub('[/:]', '_', name.lower())}")
            _put(reading, part, _CLOCKS, clock)
            reading.add(part)


def _put(reading: Reading, entity: Entity, rows: tuple[_Row, ...], body: dict[str, t.Any]) -> None:
    for name, where, kind, _says in rows:
        found = _first(body, where)
        if found is _MISSING or isinstance(found, list):
            continue
        if isinstance(found, dict):
            if "value" not in found:
                continue
            value, unit = found["value"], _json.text_of(found.get("unit")) or ""
            found = value if value is None or not unit else f"{value} {unit}"
        text = _json.text_of(found)
        missing = "not_supported" if text is None else _absence(text)
        entity.values[name] = None if missing else _convert(kind, text or "")
        if missing:
            entity.notes[name] = missing
        if missing == "unreadable" or (missing is None and entity.values[name] is None):
            entity.notes[name] = "unreadable"
            reading.note(
                "unreadable_value",
                f"{name} is not a value in a unit that we know",
                entity=entity.path,
                field=name,
                verbatim=text,
            )


def _absence(text: str) -> str | None:
    return "not_supported" if text.lower().startswith("n/a") else absence(text)


def _convert(kind: str, text: str) -> t.Any:
    if kind == "str":
        return text
    if kind == "snake":
        return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or None
    found = _NUMBER.match(text)
    if found is None or found.group(2).lower() not in _UNITS[kind][1]:
        return None
    value = float(found.group(1))
    return int(value) if kind in _WHOLE else value


def _first(body: dict[str, t.Any], places: str) -> t.Any:
    for where in places.split("|"):
        value: t.Any = body
        for key in where.split("/"):
            value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
        if value is not _MISSING and not (isinstance(value, dict) and "value" not in value):
            return value
    return _MISSING
