# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi tells of one GPU: our names for it, and how its words become values.

Private to trackbed.cluster. Each value names where it stands in the XML, newest
place first: driver 530 renamed power_readings, 535 clocks_throttle_reasons. More is in
_nvidia_extra. The words are those of nvidia-smi's documents (nvsmi_device_v4 to v13.dtd).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_extra import (
    ROWS,
    Row,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_parts import (
    MIG_ROWS,
    PROCESS_ROWS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    NOT_SUPPORTED,
    UNREADABLE,
    number,
)

# "None" is an answer (of the recovery action), not a missing one.
ABSENT_WORDS = frozenset(NOT_SUPPORTED) - {"none", "unknown"}
_ON = {"enabled": True, "yes": True, "active": True, "true": True}
_OFF = {"disabled": False, "no": False, "not active": False, "inactive": False, "false": False}


@dataclasses.dataclass(frozen=True)
class Value:
    """One value: our name, its places in the XML, how it is read, and what it means."""

    name: str
    places: tuple[str, ...]
    kind: str
    says: str

    def field(self) -> Field:
        """Return the entry of the catalogue."""
        types = {"int": int, "float": float, "flag": bool, "width": int}
        return Field(types.get(self.kind, str), self.says)


def _v(name: str, places: str, kind: str, says: str) -> Value:
    return Value(name, tuple(places.split()), kind, says)


_LINK = "pci/pci_gpu_link_info/"
_POWER = ("gpu_power_readings/", "power_readings/")


def _power(name: str, tags: str, says: str) -> Value:
    return Value(name, tuple(top + tag for tag in tags.split() for top in _POWER), "float", says)


def _reason(name: str) -> Value:
    new = f"clocks_event_reasons/clocks_event_reason_{name}"
    old = f"clocks_throttle_reasons/clocks_throttle_reason_{name}"
    return Value(f"event_{name}", (new, old), "flag", f"clocks are held down: {name}")


def _ecc(span: str) -> list[Value]:
    top = f"ecc_errors/{span}/"
    made = [
        ("sram_corrected", "sram_correctable", "corrected in SRAM"),
        ("sram_uncorrected", "sram_uncorrectable", "uncorrected in SRAM (driver before 550)"),
        ("sram_uncorrected_parity", "sram_uncorrectable_parity", "parity errors in SRAM"),
        ("sram_uncorrected_secded", "sram_uncorrectable_secded", "SECDED errors in SRAM"),
        ("dram_corrected", "dram_correctable", "corrected in DRAM"),
        ("dram_uncorrected", "dram_uncorrectable", "uncorrected in DRAM"),
        ("single_bit", "single_bit/total", "single-bit errors (before Ampere)"),
        ("double_bit", "double_bit/total", "double-bit errors (before Ampere)"),
    ]
    return [
        _v(f"ecc_{span}_{name}", top + tag, "int", f"{says}, {span}") for name, tag, says in made
    ]


def _rows(rows: tuple[Row, ...]) -> tuple[Value, ...]:
    return tuple(_v(row[0], row[1].replace("|", " "), row[3], row[4]) for row in rows)


VALUES: tuple[Value, ...] = (
    _v("name", "product_name", "text", "product name"),
    _v("brand", "product_brand", "text", "brand"),
    _v("architecture", "product_architecture", "text", "architecture"),
    _v("persistence_mode", "persistence_mode", "word", "enabled or disabled"),
    _v("addressing_mode", "addressing_mode", "word", "hmm, ats or none"),
    _v("mig_mode", "mig_mode/current_mig", "word", "MIG now"),
    _v("mig_mode_pending", "mig_mode/pending_mig", "word", "MIG after a reset"),
    _v("vbios_version", "vbios_version", "text", "video BIOS"),
    _v("inforom_version", "inforom_version/img_version", "text", "InfoROM image"),
    _v("board_part_number", "board_part_number", "text", "part number of the board"),
    _v("gpu_part_number", "gpu_part_number", "text", "part number of the GPU"),
    _v("module_id", "platformInfo/module_id gpu_module_id", "int", "place on the baseboard"),
    _v(
        "slot_number",
        "platformInfo/slot_number platformInfo/chassis_physical_slot_number",
        "int",
        "slot in the chassis",
    ),
    _v(
        "tray_index",
        "platformInfo/tray_index platformInfo/compute_slot_index",
        "int",
        "tray in the rack",
    ),
    _v(
        "chassis_serial",
        "platformInfo/chassis_serial_number platformInfo/rack_serial_number",
        "text",
        "serial number of the chassis",
    ),
    _v("recovery_action", "gpu_recovery_action", "word", "what the driver asks for; none is good"),
    _v(
        "reset_required", "gpu_reset_status/reset_required", "flag", "asks for a reset (before 570)"
    ),
    _v("gsp_firmware_version", "gsp_firmware_version", "text", "GSP firmware"),
    _v(
        "virtualization_mode",
        "gpu_virtualization_mode/virtualization_mode",
        "text",
        "virtualisation",
    ),
    _v("pcie_gen", _LINK + "pcie_gen/current_link_gen", "int", "generation of the link now"),
    _v("pcie_max_gen", _LINK + "pcie_gen/max_link_gen", "int", "largest that GPU and slot can do"),
    _v("pcie_device_max_gen", _LINK + "pcie_gen/max_device_link_gen", "int", "largest of the GPU"),
    _v(
        "pcie_host_max_gen",
        _LINK + "pcie_gen/max_host_link_gen",
        "int",
        "what is said of the host; wrong on some platforms, never judge by it",
    ),
    _v("pcie_width", _LINK + "link_widths/current_link_width", "width", "lanes now"),
    _v("pcie_max_width", _LINK + "link_widths/max_link_width", "width", "lanes that are possible"),
    _v("pcie_replay_count", "pci/replay_counter", "int", "packets sent again"),
    _v("fan_speed_pct", "fan_speed", "int", "fan; null for cards without one"),
    _v("performance_state", "performance_state", "text", "P0 is full speed"),
    *[
        _reason(name)
        for name in (
            "gpu_idle",
            "applications_clocks_setting",
            "sw_power_cap",
            "hw_slowdown",
            "hw_thermal_slowdown",
            "hw_power_brake_slowdown",
            "sync_boost",
            "sw_thermal_slowdown",
            "display_clocks_setting",
        )
    ],
    _v("memory_total_mib", "fb_memory_usage/total", "int", "frame buffer"),
    _v("memory_used_mib", "fb_memory_usage/used", "int", "frame buffer in use"),
    _v("bar1_total_mib", "bar1_memory_usage/total", "int", "BAR1"),
    _v("compute_mode", "compute_mode", "word", "default, exclusive_process or prohibited"),
    _v("utilization_gpu_pct", "utilization/gpu_util", "int", "time with a kernel running"),
    _v("utilization_memory_pct", "utilization/memory_util", "int", "time with memory in use"),
    _v("ecc_mode", "ecc_mode/current_ecc", "word", "ECC now"),
    _v("ecc_mode_pending", "ecc_mode/pending_ecc", "word", "ECC after a reset"),
    *_ecc("volatile"),
    *_ecc("aggregate"),
    _v(
        "ecc_sram_threshold_exceeded",
        "ecc_errors/aggregate/sram_threshold_exceeded",
        "flag",
        "SRAM errors are above the vendor's limit",
    ),
    _v(
        "retired_pages_single_bit",
        "retired_pages/multiple_single_bit_retirement/retired_count",
        "int",
        "pages retired after single-bit errors",
    ),
    _v(
        "retired_pages_double_bit",
        "retired_pages/double_bit_retirement/retired_count",
        "int",
        "pages retired after double-bit errors",
    ),
    _v(
        "retired_pages_pending",
        "retired_pages/pending_retirement retired_pages/pending_blacklist",
        "flag",
        "pages wait for a reset to be retired",
    ),
    _v(
        "remapped_rows_corrected",
        "remapped_rows/remapped_row_corr",
        "int",
        "after corrected errors",
    ),
    _v(
        "remapped_rows_uncorrected",
        "remapped_rows/remapped_row_unc",
        "int",
        "after uncorrected ones",
    ),
    _v("remap_pending", "remapped_rows/remapped_row_pending", "flag", "a remap waits for a reset"),
    _v("remap_failure", "remapped_rows/remapped_row_failure", "flag", "no spare row is left"),
    _v("temperature_c", "temperature/gpu_temp", "int", "GPU"),
    _v("temperature_margin_c", "temperature/gpu_temp_tlimit", "int", "degrees below the limit"),
    _v("temperature_slowdown_c", "temperature/gpu_temp_slow_threshold", "int", "slows down here"),
    _v("temperature_shutdown_c", "temperature/gpu_temp_max_threshold", "int", "shuts down here"),
    _v("memory_temperature_c", "temperature/memory_temp", "int", "memory"),
    _power("power_draw_w", "instant_power_draw average_power_draw power_draw", "power now"),
    _power(
        "power_limit_w", "current_power_limit enforced_power_limit power_limit", "limit in force"
    ),
    _power("power_limit_requested_w", "requested_power_limit power_limit", "limit asked for"),
    _power("power_limit_default_w", "default_power_limit", "limit from the factory"),
    _power("power_limit_min_w", "min_power_limit", "least limit that is accepted"),
    _power("power_limit_max_w", "max_power_limit", "largest limit that is accepted"),
    _v("clock_graphics_mhz", "clocks/graphics_clock", "int", "now"),
    _v("clock_sm_mhz", "clocks/sm_clock", "int", "now"),
    _v("clock_memory_mhz", "clocks/mem_clock", "int", "now"),
    _v("clock_sm_max_mhz", "max_clocks/sm_clock", "int", "largest"),
    _v("clock_memory_max_mhz", "max_clocks/mem_clock", "int", "largest"),
    _v("fabric_state", "fabric/state", "word", "completed is good"),
    _v("fabric_status", "fabric/status", "word", "success is good"),
    _v("fabric_clique_id", "fabric/cliqueId", "int", "partition of the NVLink domain"),
    _v("fabric_cluster_uuid", "fabric/clusterUuid", "text", "NVLink domain; zero outside of one"),
    _v("fabric_health", "fabric/health/summary", "word", "healthy, unhealthy, limited_capacity"),
    _v("fabric_bandwidth_degraded", "fabric/health/bandwidth", "word", "full or degraded"),
    _v("fabric_route_unhealthy", "fabric/health/route_unhealthy", "flag", "a route is bad"),
    _v(
        "fabric_route_recovery",
        "fabric/health/route_recovery_in_progress",
        "flag",
        "a route is being mended",
    ),
    _v(
        "fabric_access_timeout_recovery",
        "fabric/health/access_timeout_recovery",
        "flag",
        "recovers from a timeout",
    ),
    _v(
        "fabric_incorrect_configuration",
        "fabric/health/incorrect_configuration",
        "word",
        "what is configured wrongly; none is good",
    ),
    *_rows(ROWS),
)
MIG_VALUES = _rows(MIG_ROWS)
PROCESS_VALUES = _rows(PROCESS_ROWS)
GPU_FIELDS = {one.name: one.field() for one in VALUES}
# The catalogue of both readers: the text of -q and its XML.
FIELDS: dict[str, dict[str, Field]] = {
    "gpu": dict(
        {
            "process_count": Field(int, "processes on it; null where they may not be seen"),
            "mig_device_count": Field(int, "MIG devices"),
            "minor_number": Field(int, "number of /dev/nvidiaN"),
        },
        **GPU_FIELDS,
    ),
    "mig": {one.name: one.field() for one in MIG_VALUES},
    "process": {one.name: one.field() for one in PROCESS_VALUES},
}
_UNITS = {"_w": "w", "_mib": "mib", "_pct": "%", "_c": "c", "_mhz": "mhz", "_us": "us",
          "_kb_per_s": "kb/s", "_banks": "bank(s)"}  # fmt: skip


def convert(value: Value, text: str) -> tuple[t.Any, str | None]:
    """Return the value and a note: `not_supported`, `unreadable`, `verbatim` or None."""
    word = text.strip()
    lower = word.lower()
    if not word or lower in ABSENT_WORDS:
        return None, "not_supported"
    if lower in UNREADABLE or lower.strip("[]") in UNREADABLE:
        return None, "unreadable"
    if value.kind == "text":
        return word, None
    if value.kind == "word":
        return re.sub(r"[^a-z0-9]+", "_", lower).strip("_") or word, None
    if value.kind == "flag":
        known = {**_ON, **_OFF}.get(lower)
        return (word, "verbatim") if known is None else (known, None)
    return _number(value, word)


def _number(value: Value, word: str) -> tuple[t.Any, str | None]:
    unit = next((unit for end, unit in _UNITS.items() if value.name.endswith(end)), "")
    found = number(word[:-1] if value.kind == "width" and word.endswith("x") else word, (unit, ""))
    if found is None:
        return word, "verbatim"
    return (float(found), None) if value.kind == "float" else (int(found), None)
