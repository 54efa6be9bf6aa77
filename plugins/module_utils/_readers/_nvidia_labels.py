# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the text of `nvidia-smi -q` has the values that the XML has in its elements.

Private to trackbed.cluster. A place is the path of labels, in lower case; newest first.
Labels were read in outputs of drivers 470 to 610 and in the manual page of the newest:
"Clocks Throttle Reasons" became "Clocks Event Reasons" with 535, "Power Readings" became
"GPU Power Readings" with 530, power limits moved below "GPU Ceiling Power Limit" after 610.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_extra import (
    ROWS,
    text_places,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_parts import (
    MIG_ROWS,
    PROCESS_ROWS,
)

_LINK = "pci/gpu link info/"
_POWER = ("gpu power readings", "power readings")


def _power(*labels: str) -> tuple[str, ...]:
    tops = [f"{top}{inner}" for top in _POWER for inner in ("", "/gpu ceiling power limit")]
    return tuple(f"{top}/{label}" for label in labels for top in tops)


def _reason(label: str, *nested: str) -> tuple[str, ...]:
    tops = ("clocks event reasons", "clocks throttle reasons")
    return tuple(f"{top}/{one}" for top in tops for one in (label, *nested))


def _ecc(span: str) -> dict[str, tuple[str, ...]]:
    top = f"ecc errors/{span}/"
    labels = {
        "sram_corrected": "sram correctable",
        "sram_uncorrected": "sram uncorrectable",
        "sram_uncorrected_parity": "sram uncorrectable parity",
        "sram_uncorrected_secded": "sram uncorrectable sec-ded",
        "dram_corrected": "dram correctable",
        "dram_uncorrected": "dram uncorrectable",
        "single_bit": "single bit/total",
        "double_bit": "double bit/total",
    }
    return {f"ecc_{span}_{name}": (top + label,) for name, label in labels.items()}


PLACES: dict[str, tuple[str, ...]] = {
    "name": ("product name",),
    "brand": ("product brand",),
    "architecture": ("product architecture",),
    "persistence_mode": ("persistence mode",),
    "addressing_mode": ("addressing mode",),
    "mig_mode": ("mig mode/current",),
    "mig_mode_pending": ("mig mode/pending",),
    "vbios_version": ("vbios version",),
    "inforom_version": ("inforom version/image version",),
    "board_part_number": ("board part number",),
    "gpu_part_number": ("gpu part number",),
    "module_id": ("platform info/module id", "module id"),
    "slot_number": ("platform info/slot number", "platform info/chassis physical slot number"),
    "tray_index": ("platform info/tray index", "platform info/compute slot index"),
    "chassis_serial": ("platform info/chassis serial number", "platform info/rack serial number"),
    "recovery_action": ("gpu recovery action",),
    "reset_required": ("gpu reset status/reset required",),
    "gsp_firmware_version": ("gsp firmware version",),
    "virtualization_mode": ("gpu virtualization mode/virtualization mode",),
    "pcie_gen": (_LINK + "pcie generation/current",),
    "pcie_max_gen": (_LINK + "pcie generation/max",),
    "pcie_device_max_gen": (_LINK + "pcie generation/device max",),
    "pcie_host_max_gen": (_LINK + "pcie generation/host max",),
    "pcie_width": (_LINK + "link width/current",),
    "pcie_max_width": (_LINK + "link width/max",),
    "pcie_replay_count": ("pci/replays since reset",),
    "fan_speed_pct": ("fan speed",),
    "performance_state": ("performance state",),
    "event_gpu_idle": _reason("idle"),
    "event_applications_clocks_setting": _reason("applications clocks setting"),
    "event_sw_power_cap": _reason("sw power cap"),
    "event_hw_slowdown": _reason("hw slowdown"),
    "event_hw_thermal_slowdown": _reason("hw slowdown/hw thermal slowdown", "hw thermal slowdown"),
    "event_hw_power_brake_slowdown": _reason(
        "hw slowdown/hw power brake slowdown", "hw power brake slowdown"
    ),
    "event_sync_boost": _reason("sync boost"),
    "event_sw_thermal_slowdown": _reason("sw thermal slowdown"),
    "event_display_clocks_setting": _reason("display clock setting", "display clocks setting"),
    "memory_total_mib": ("fb memory usage/total",),
    "memory_used_mib": ("fb memory usage/used",),
    "bar1_total_mib": ("bar1 memory usage/total",),
    "compute_mode": ("compute mode",),
    "utilization_gpu_pct": ("utilization/gpu",),
    "utilization_memory_pct": ("utilization/memory",),
    "ecc_mode": ("ecc mode/current",),
    "ecc_mode_pending": ("ecc mode/pending",),
    **_ecc("volatile"),
    **_ecc("aggregate"),
    "ecc_sram_threshold_exceeded": ("ecc errors/aggregate/sram threshold exceeded",),
    "retired_pages_single_bit": ("retired pages/single bit ecc",),
    "retired_pages_double_bit": ("retired pages/double bit ecc",),
    "retired_pages_pending": (
        "retired pages/pending page blacklist",
        "retired pages/pending retirement",
        "retired pages/pending",
    ),
    "remapped_rows_corrected": ("remapped rows/correctable error",),
    "remapped_rows_uncorrected": ("remapped rows/uncorrectable error",),
    "remap_pending": ("remapped rows/pending",),
    "remap_failure": ("remapped rows/remapping failure occurred",),
    "temperature_c": ("temperature/gpu current temp",),
    "temperature_margin_c": (
        "temperature/gpu t.limit temp",
        "temperature/gpu current t.limit temp",
    ),
    "temperature_slowdown_c": (
        "temperature/gpu slowdown temp",
        "temperature/gpu slowdown temp specification",
    ),
    "temperature_shutdown_c": (
        "temperature/gpu shutdown temp",
        "temperature/gpu shutdown temp specification",
    ),
    "memory_temperature_c": ("temperature/memory current temp",),
    "power_draw_w": _power(
        "instantaneous power draw", "instant power draw", "average power draw", "power draw"
    ),
    "power_limit_w": _power("current power limit", "enforced power limit", "power limit"),
    "power_limit_requested_w": _power("requested power limit", "power limit"),
    "power_limit_default_w": _power("default power limit"),
    "power_limit_min_w": _power("min power limit"),
    "power_limit_max_w": _power("max power limit"),
    "clock_graphics_mhz": ("clocks/graphics",),
    "clock_sm_mhz": ("clocks/sm",),
    "clock_memory_mhz": ("clocks/memory",),
    "clock_sm_max_mhz": ("max clocks/sm",),
    "clock_memory_max_mhz": ("max clocks/memory",),
    "fabric_state": ("fabric/state",),
    "fabric_status": ("fabric/status",),
    "fabric_clique_id": ("fabric/cliqueid",),
    "fabric_cluster_uuid": ("fabric/clusteruuid",),
    "fabric_health": ("fabric/health/summary",),
    "fabric_bandwidth_degraded": ("fabric/health/bandwidth",),
    "fabric_route_unhealthy": ("fabric/health/route unhealthy",),
    "fabric_route_recovery": ("fabric/health/route recovery in progress",),
    "fabric_access_timeout_recovery": ("fabric/health/access timeout recovery",),
    "fabric_incorrect_configuration": ("fabric/health/incorrect configuration",),
    **text_places(ROWS),
}
MIG_PLACES = text_places(MIG_ROWS)
PROCESS_PLACES = text_places(PROCESS_ROWS)
