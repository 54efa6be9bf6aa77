# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi tells of the MIG devices and the processes of a GPU.

Private to trackbed.cluster. Rows as in _nvidia_extra; the names are those of the table.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_extra import Row

_SHARED = "device_attributes/shared/"
_SHARED_TEXT = "device attributes/shared/"


def _engines(name: str, tag: str, label: str, says: str) -> Row:
    text = f"{_SHARED_TEXT}{label} count|{_SHARED_TEXT}{label}"
    return (f"{name}_count", f"{_SHARED}{tag}_count", text, "int", says)


MIG_ROWS: tuple[Row, ...] = (
    ("gpu_instance_id", "gpu_instance_id", "gpu instance id", "int", "GPU instance"),
    ("compute_instance_id", "compute_instance_id", "compute instance id", "int", "its part"),
    ("memory_total_mib", "fb_memory_usage/total", "fb memory usage/total", "int", "frame buffer"),
    ("memory_used_mib", "fb_memory_usage/used", "fb memory usage/used", "int", "of it in use"),
    ("bar1_total_mib", "bar1_memory_usage/total", "bar1 memory usage/total", "int", "BAR1"),
    ("bar1_used_mib", "bar1_memory_usage/used", "bar1 memory usage/used", "int", "of it in use"),
    _engines("sm", "multiprocessor", "multiprocessor", "multiprocessors"),
    _engines("copy_engine", "copy_engine", "copy engine", "copy engines, shared"),
    _engines("encoder", "encoder", "encoder", "encoders, shared"),
    _engines("decoder", "decoder", "decoder", "decoders, shared"),
    _engines("ofa", "ofa", "ofa", "optical flow engines, shared"),
    _engines("jpeg", "jpg", "jpg", "JPEG engines, shared"),
    (
        "ecc_volatile_sram_uncorrected",
        "ecc_error_count/volatile_count/sram_uncorrectable",
        "ecc errors/volatile/sram uncorrectable",
        "int",
        "uncorrected in SRAM, volatile",
    ),
)

PROCESS_ROWS: tuple[Row, ...] = (
    ("pid", "pid", "process id", "int", "process, in the name space of nvidia-smi"),
    ("type", "type", "type", "text", "C computes, G draws, M is of MPS, as printed"),
    ("command", "process_name", "name", "text", "program, with its path where it is told"),
    ("memory_used_mib", "used_memory", "used gpu memory", "int", "frame buffer"),
    ("gpu_instance_id", "gpu_instance_id", "gpu instance id", "int", "null without MIG"),
    (
        "compute_instance_id",
        "compute_instance_id",
        "compute instance id",
        "int",
        "null without MIG",
    ),
)
