# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of nvidia-smi's default table. Private to trackbed.cluster."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    GPU_FIELDS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

_SHARED = (
    "name persistence_mode mig_mode fan_speed_pct performance_state memory_total_mib "
    "memory_used_mib compute_mode utilization_gpu_pct ecc_mode temperature_c power_draw_w "
    "power_limit_w"
)
_COUNT = "uncorrected ECC errors since the driver was loaded"
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "cuda_version": Field(str, "newest CUDA that this driver serves"),
        "gpu_count": Field(int, "GPUs in the table; null where it was cut"),
        "mig_device_count": Field(int, "MIG devices; null where the table was cut"),
        "process_count": Field(int, "rows of processes; null where they are not shown"),
    },
    "gpu": {
        **{name: GPU_FIELDS[name] for name in _SHARED.split()},
        "display_active": Field(bool, "a display is driven"),
        "driver_model": Field(str, "wddm, tcc or mcdm, on Windows"),
        "ecc_volatile_uncorrected": Field(int, f"{_COUNT}; null in MIG mode"),
        "process_count": Field(int, "rows of processes; null where they are not shown"),
        "inforom_corrupted": Field(bool, "a warning says so; null where there is none"),
    },
    "mig": {
        "gpu_instance_id": Field(int, "GPU instance"),
        "compute_instance_id": Field(int, "compute instance"),
        "memory_total_mib": Field(int, "its part of the frame buffer", "MiB"),
        "memory_used_mib": Field(int, "of it in use", "MiB"),
        "bar1_total_mib": Field(int, "its part of BAR1", "MiB"),
        "bar1_used_mib": Field(int, "of it in use", "MiB"),
        "sm_count": Field(int, "multiprocessors"),
        "ecc_volatile_uncorrected": Field(int, _COUNT),
        "copy_engine_count": Field(int, "copy engines, shared in the GPU instance"),
        "encoder_count": Field(int, "encoders, shared"),
        "decoder_count": Field(int, "decoders, shared"),
        "ofa_count": Field(int, "optical flow engines, shared"),
        "jpeg_count": Field(int, "JPEG engines, shared"),
    },
    "process": {
        "pid": Field(int, "process, in the name space of nvidia-smi"),
        "type": Field(str, "C computes, G draws, M is of MPS, as printed"),
        "command": Field(str, "program, cut at its beginning where it is long"),
        "memory_used_mib": Field(int, "frame buffer", "MiB"),
        "gpu_instance_id": Field(int, "GPU instance; null without MIG"),
        "compute_instance_id": Field(int, "compute instance; null without MIG"),
    },
}
