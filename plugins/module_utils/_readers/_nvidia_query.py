# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `nvidia-smi --query-gpu` calls the values that other outputs call by other names.

Private to trackbed.cluster. Names are those of --help-query-gpu, drivers 470 to 610; the
older `clocks_throttle_reasons.*` are still accepted by newer drivers.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    VALUES,
    Value,
)


def _ecc(span: str) -> dict[str, str]:
    top = f"ecc.errors.{{}}.{span}."
    corrected, uncorrected = top.format("corrected"), top.format("uncorrected")
    return {
        corrected + "dram": f"ecc_{span}_dram_corrected",
        corrected + "sram": f"ecc_{span}_sram_corrected",
        uncorrected + "dram": f"ecc_{span}_dram_uncorrected",
        uncorrected + "sram": f"ecc_{span}_sram_uncorrected",
        uncorrected + "sram.parity": f"ecc_{span}_sram_uncorrected_parity",
        uncorrected + "sram.secded": f"ecc_{span}_sram_uncorrected_secded",
        corrected + "total": f"ecc_{span}_corrected_total",
        uncorrected + "total": f"ecc_{span}_uncorrected_total",
    }


def _reasons() -> dict[str, str]:
    names = {
        "gpu_idle": "gpu_idle",
        "applications_clocks_setting": "applications_clocks_setting",
        "sw_power_cap": "sw_power_cap",
        "hw_slowdown": "hw_slowdown",
        "hw_thermal_slowdown": "hw_thermal_slowdown",
        "hw_power_brake_slowdown": "hw_power_brake_slowdown",
        "sync_boost": "sync_boost",
        "sw_thermal_slowdown": "sw_thermal_slowdown",
    }
    tops = ("clocks_event_reasons", "clocks_throttle_reasons")
    return {f"{top}.{key}": f"event_{name}" for top in tops for key, name in names.items()}


# The value's name in every other reader of nvidia-smi; those after the first line are its own.
NAMES: dict[str, str] = {
    "name": "name",
    "gpu_name": "name",
    "persistence_mode": "persistence_mode",
    "addressing_mode": "addressing_mode",
    "mig.mode.current": "mig_mode",
    "mig.mode.pending": "mig_mode_pending",
    "vbios_version": "vbios_version",
    "inforom.img": "inforom_version",
    "inforom.image": "inforom_version",
    "platform.module_id": "module_id",
    "platform.slot_number": "slot_number",
    "platform.tray_index": "tray_index",
    "platform.chassis_serial_number": "chassis_serial",
    "gpu_recovery_action": "recovery_action",
    "reset_status.reset_required": "reset_required",
    "pcie.link.gen.current": "pcie_gen",
    "pcie.link.gen.gpucurrent": "pcie_gen",
    "pcie.link.gen.max": "pcie_max_gen",
    "pcie.link.gen.gpumax": "pcie_device_max_gen",
    "pcie.link.gen.hostmax": "pcie_host_max_gen",
    "pcie.link.width.current": "pcie_width",
    "pcie.link.width.max": "pcie_max_width",
    "fan.speed": "fan_speed_pct",
    "pstate": "performance_state",
    **_reasons(),
    "memory.total": "memory_total_mib",
    "memory.used": "memory_used_mib",
    "memory.free": "memory_free_mib",
    "memory.reserved": "memory_reserved_mib",
    "compute_mode": "compute_mode",
    "compute_cap": "compute_capability",
    "clocks_event_reasons.active": "event_reasons_active",
    "clocks_throttle_reasons.active": "event_reasons_active",
    "utilization.gpu": "utilization_gpu_pct",
    "utilization.memory": "utilization_memory_pct",
    "utilization.encoder": "utilization_encoder_pct",
    "utilization.decoder": "utilization_decoder_pct",
    "utilization.jpeg": "utilization_jpeg_pct",
    "utilization.ofa": "utilization_ofa_pct",
    "ecc.mode.current": "ecc_mode",
    "ecc.mode.pending": "ecc_mode_pending",
    **_ecc("volatile"),
    **_ecc("aggregate"),
    "ecc.errors.uncorrected.aggregate.sram.thresholdexceeded": "ecc_sram_threshold_exceeded",
    "retired_pages.single_bit_ecc.count": "retired_pages_single_bit",
    "retired_pages.double_bit.count": "retired_pages_double_bit",
    "retired_pages.pending": "retired_pages_pending",
    "remapped_rows.correctable": "remapped_rows_corrected",
    "remapped_rows.uncorrectable": "remapped_rows_uncorrected",
    "remapped_rows.pending": "remap_pending",
    "remapped_rows.failure": "remap_failure",
    "temperature.gpu": "temperature_c",
    "temperature.gpu.tlimit": "temperature_margin_c",
    "temperature.memory": "memory_temperature_c",
    "power.draw.instant": "power_draw_w",
    "power.draw": "power_draw_w",
    "power.draw.average": "power_draw_w",
    "enforced.power.limit": "power_limit_w",
    "power.limit": "power_limit_requested_w",
    "power.default_limit": "power_limit_default_w",
    "power.min_limit": "power_limit_min_w",
    "power.max_limit": "power_limit_max_w",
    "clocks.current.graphics": "clock_graphics_mhz",
    "clocks.gr": "clock_graphics_mhz",
    "clocks.current.sm": "clock_sm_mhz",
    "clocks.sm": "clock_sm_mhz",
    "clocks.current.memory": "clock_memory_mhz",
    "clocks.mem": "clock_memory_mhz",
    "clocks.current.video": "clock_video_mhz",
    "clocks.video": "clock_video_mhz",
    "clocks.max.graphics": "clock_graphics_max_mhz",
    "clocks.max.gr": "clock_graphics_max_mhz",
    "clocks.max.sm": "clock_sm_max_mhz",
    "clocks.max.memory": "clock_memory_max_mhz",
    "clocks.max.mem": "clock_memory_max_mhz",
    "fabric.state": "fabric_state",
    "fabric.status": "fabric_status",
    "fabric.cliqueid": "fabric_clique_id",
    "fabric.clusteruuid": "fabric_cluster_uuid",
    "fabric.health.summary": "fabric_health",
    "fabric.health.bandwidth": "fabric_bandwidth_degraded",
    "fabric.health.route_unhealthy": "fabric_route_unhealthy",
    "fabric.health.route_recovery_in_progress": "fabric_route_recovery",
    "fabric.health.access_timeout_recovery": "fabric_access_timeout_recovery",
    "fabric.health.incorrect_configuration": "fabric_incorrect_configuration",
}
# Of several columns for one value the one that stands first here wins.
ORDER = {name: index for index, name in enumerate(NAMES)}


def _own(name: str, kind: str, says: str) -> Value:
    return Value(name, (), kind, says)


# Values that no other output of nvidia-smi has, or not by GPU.
OWN = (
    *[
        _own(f"ecc_{span}_{sort}_total", "int", f"{sort} errors of all kinds, {span}")
        for span in ("volatile", "aggregate")
        for sort in ("corrected", "uncorrected")
    ],
    _own("memory_free_mib", "int", "frame buffer that is free"),
    _own("memory_reserved_mib", "int", "frame buffer that driver and firmware keep"),
    _own("utilization_encoder_pct", "int", "encoder"),
    _own("utilization_decoder_pct", "int", "decoder"),
    _own("utilization_jpeg_pct", "int", "JPEG engine"),
    _own("utilization_ofa_pct", "int", "optical flow engine"),
    _own("clock_video_mhz", "int", "now"),
    _own("clock_graphics_max_mhz", "int", "largest"),
    _own("compute_capability", "text", "compute capability, such as 9.0"),
    _own("event_reasons_active", "text", "why clocks are held down, as a mask"),
)
BY_NAME = {value.name: value for value in (*VALUES, *OWN)}
# Columns that tell of which GPU, driver or moment a row is.
IDENTITIES = frozenset(
    {
        *("index", "uuid", "gpu_uuid", "serial", "gpu_serial", "pci.bus_id", "gpu_bus_id"),
        *("driver_version", "timestamp", "count"),
    }
)
# Columns of the lists of processes, and of retired pages and supported clocks.
OTHERS = frozenset(
    {
        *("pid", "process_name", "used_memory", "used_gpu_memory", "gpu_utilization"),
        *("mem_utilization", "max_memory_usage", "time", "memory", "graphics"),
        *("retired_pages.address", "retired_pages.timestamp", "retired_pages.cause"),
    }
)
KNOWN = frozenset(NAMES) | IDENTITIES | OTHERS
