# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""More of what nvidia-smi tells of a GPU.

Private to trackbed.cluster. A row has our name, the places in the XML, those in the text
of -q (paths of labels in lower case; newest first, parted by `|`), the kind of value and
what it means. Sources: nvsmi_device_v11 to v13.dtd, nvidia-smi(1), outputs of 470 to 610.
"""

from __future__ import annotations

import typing as t

Row = t.Tuple[str, str, str, str, str]

_LICENCE_XML = "vgpu_software_licensed_product/{0}|grid_licensed_product/{0}"
_LICENCE_TEXT = "vgpu software licensed product/{0}|grid licensed product/{0}"
_POWER = "instant_power_draw|{0}/average_power_draw|{0}/power_draw"
_POWER_TEXT = (
    "instantaneous power draw|{0}/instant power draw|{0}/average power draw|{0}/power draw"
)


def _licence(tag: str, label: str) -> tuple[str, str]:
    return _LICENCE_XML.format(tag), _LICENCE_TEXT.format(label)


def _draw(tag: str, label: str) -> tuple[str, str]:
    return f"{tag}/" + _POWER.format(tag), f"{label}/" + _POWER_TEXT.format(label)


def _held_back(name: str, tag: str, label: str) -> Row:
    top = "clocks_event_reasons_counters/clocks_event_reasons_counters_"
    text = f"clocks event reasons counters/{label}"
    return (f"event_{name}_time_us", top + tag, text, "int", f"clocks were held down: {name}")


def _sram(part: str, label: str) -> Row:
    top = "ecc_errors/aggregate_uncorrectable_sram_sources/sram_"
    text = f"ecc errors/aggregate uncorrectable sram sources/sram {label}"
    says = f"uncorrected SRAM errors in {part}"
    return (f"ecc_aggregate_sram_uncorrected_{part}", top + part, text, "int", says)


def _banks(name: str) -> Row:
    top = "remapped_rows/row_remapper_histogram/row_remapper_histogram_"
    text = f"remapped rows/bank remap availability histogram/{name}"
    return (f"remap_{name}_banks", top + name, text, "int", f"banks with spare rows left: {name}")


def _degrees(name: str, tag: str, label: str, says: str) -> Row:
    top = f"temperature/{label}"
    return (name, f"temperature/{tag}", f"{top}|{top} specification", "int", says)


ROWS: tuple[Row, ...] = (
    ("driver_model", "driver_model/current_dm", "driver model/current", "word", "on Windows"),
    ("display_active", "display_active", "display active", "flag", "a display is driven"),
    ("fru_part_number", "gpu_fru_part_number", "fru part number", "text", "part number to order"),
    (
        "host_id",
        "platformInfo/host_id|platformInfo/node_index",
        "platform info/host id|platform info/node index",
        "int",
        "host in the tray",
    ),
    (
        "peer_type",
        "platformInfo/peer_type",
        "platform info/peer type",
        "word",
        "how it reaches its peers",
    ),
    (
        "fabric_guid",
        "platformInfo/gpu_fabric_guid",
        "platform info/gpu fabric guid",
        "text",
        "its GUID in the NVLink fabric",
    ),
    ("c2c_mode", "c2c_mode", "gpu c2c mode", "word", "link to a Grace CPU"),
    (
        "host_vgpu_mode",
        "gpu_virtualization_mode/host_vgpu_mode",
        "gpu virtualization mode/host vgpu mode",
        "word",
        "how vGPUs are made, on their host",
    ),
    (
        "vgpu_license_product",
        *_licence("licensed_product_name", "product name"),
        "text",
        "licensed product, in a guest",
    ),
    (
        "vgpu_license_status",
        *_licence("license_status", "license status"),
        "text",
        "licence, in a guest; an unlicensed vGPU is slowed down",
    ),
    (
        "drain_and_reset_recommended",
        "gpu_reset_status/drain_and_reset_recommended",
        "gpu reset status/drain and reset recommended",
        "flag",
        "asks for a reset after its jobs (before 570)",
    ),
    (
        "pcie_device_gen",
        "pci/pci_gpu_link_info/pcie_gen/device_current_link_gen",
        "pci/gpu link info/pcie generation/device current",
        "int",
        "generation of the GPU's own link now",
    ),
    (
        "pcie_replay_rollover_count",
        "pci/replay_rollover_counter",
        "pci/replay number rollovers",
        "int",
        "times that the counter of replays began again",
    ),
    ("pcie_tx_kb_per_s", "pci/tx_util", "pci/tx throughput", "int", "PCIe, sent"),
    ("pcie_rx_kb_per_s", "pci/rx_util", "pci/rx throughput", "int", "PCIe, received"),
    _held_back("sw_power_cap", "sw_power_cap", "sw power capping"),
    _held_back("sync_boost", "sync_boost", "sync boost"),
    _held_back("sw_thermal_slowdown", "sw_therm_slowdown", "sw thermal slowdown"),
    _held_back("hw_thermal_slowdown", "hw_therm_slowdown", "hw thermal slowdown"),
    _held_back("hw_power_brake_slowdown", "hw_power_brake", "hw power braking"),
    (
        "memory_reserved_mib",
        "fb_memory_usage/reserved",
        "fb memory usage/reserved",
        "int",
        "frame buffer that the driver keeps",
    ),
    ("memory_free_mib", "fb_memory_usage/free", "fb memory usage/free", "int", "frame buffer"),
    ("bar1_used_mib", "bar1_memory_usage/used", "bar1 memory usage/used", "int", "BAR1 in use"),
    (
        "protected_memory_total_mib",
        "cc_protected_memory_usage/total",
        "conf compute protected memory usage/total",
        "int",
        "of confidential compute",
    ),
    (
        "protected_memory_used_mib",
        "cc_protected_memory_usage/used",
        "conf compute protected memory usage/used",
        "int",
        "of it in use",
    ),
    (
        "utilization_encoder_pct",
        "utilization/encoder_util",
        "utilization/encoder",
        "int",
        "encoder",
    ),
    (
        "utilization_decoder_pct",
        "utilization/decoder_util",
        "utilization/decoder",
        "int",
        "decoder",
    ),
    ("utilization_jpeg_pct", "utilization/jpeg_util", "utilization/jpeg", "int", "JPEG engine"),
    ("utilization_ofa_pct", "utilization/ofa_util", "utilization/ofa", "int", "optical flow"),
    (
        "dram_encryption_mode",
        "dram_encryption_mode/current_dram_encryption",
        "dram encryption mode/current",
        "word",
        "encryption of the memory now",
    ),
    _sram("l2", "l2"),
    _sram("sm", "sm"),
    _sram("microcontroller", "microcontroller"),
    _sram("pcie", "pcie"),
    _sram("other", "other"),
    (
        "channel_repair_pending",
        "ecc_errors/channel_repair_pending",
        "ecc errors/channel repair pending",
        "flag",
        "a memory channel waits for a reset to be repaired",
    ),
    (
        "tpc_repair_pending",
        "ecc_errors/tpc_repair_pending",
        "ecc errors/tpc repair pending",
        "flag",
        "a TPC waits for a reset to be repaired",
    ),
    (
        "unrepairable_memory",
        "ecc_errors/unrepairable_memory",
        "ecc errors/unrepairable memory",
        "flag",
        "memory that cannot be repaired any more",
    ),
    _banks("max"),
    _banks("high"),
    _banks("partial"),
    _banks("low"),
    _banks("none"),
    _degrees("temperature_target_c", "gpu_target_temperature", "gpu target temperature", "aim"),
    _degrees(
        "temperature_max_operating_c",
        "gpu_temp_max_gpu_threshold",
        "gpu max operating temp",
        "software slows down here",
    ),
    _degrees(
        "temperature_shutdown_margin_c",
        "gpu_temp_max_tlimit_threshold",
        "gpu shutdown t.limit temp",
        "shuts down at this margin",
    ),
    _degrees(
        "temperature_slowdown_margin_c",
        "gpu_temp_slow_tlimit_threshold",
        "gpu slowdown t.limit temp",
        "slows down at this margin",
    ),
    _degrees(
        "temperature_max_operating_margin_c",
        "gpu_temp_max_gpu_tlimit_threshold",
        "gpu max operating t.limit temp",
        "software slows down at this margin",
    ),
    _degrees(
        "memory_temperature_max_c",
        "gpu_temp_max_mem_threshold",
        "memory max operating temp",
        "of the memory",
    ),
    _degrees(
        "memory_temperature_max_margin_c",
        "gpu_temp_max_mem_tlimit_threshold",
        "memory max operating t.limit temp",
        "of the memory",
    ),
    (
        "memory_power_draw_w",
        *_draw("gpu_memory_power_readings", "gpu memory power readings"),
        "float",
        "memory, part of the GPU's power",
    ),
    (
        "module_power_draw_w",
        *_draw("module_power_readings", "module power readings"),
        "float",
        "module of GPU and Grace CPU",
    ),
    (
        "module_power_limit_w",
        "module_power_readings/current_power_limit",
        "module power readings/current power limit",
        "float",
        "its limit in force",
    ),
    (
        "module_power_limit_default_w",
        "module_power_readings/default_power_limit",
        "module power readings/default power limit",
        "float",
        "its limit from the factory",
    ),
    (
        "base_power_w",
        "",
        "gpu power readings/gpu base power/current base power",
        "float",
        "power that is the GPU's own, without what other parts leave it",
    ),
    ("clock_video_mhz", "clocks/video_clock", "clocks/video", "int", "now"),
    (
        "clock_graphics_max_mhz",
        "max_clocks/graphics_clock",
        "max clocks/graphics",
        "int",
        "largest",
    ),
    (
        "fabric_partition_assigned",
        "fabric/health/partition_assigned",
        "fabric/health/partition assigned",
        "flag",
        "it is in a partition of the NVLink domain",
    ),
    ("egm_mode", "capabilities/egm", "capabilities/egm", "word", "extended GPU memory"),
)


def text_places(rows: tuple[Row, ...]) -> dict[str, tuple[str, ...]]:
    """Return the places in the text by name."""
    return {name: tuple(text.split("|")) for name, _xml, text, _kind, _says in rows}
