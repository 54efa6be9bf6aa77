# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi dmon`: power, temperature, load and clocks by sample.

Format: two lines that begin with `#` name the columns and their units, and come again
every few samples; -s chooses columns, -o D and -o T put the time before them, --format
csv parts them by commas: they are found by name. Seen: driver 590, and older ones that
did not tell their version; CSV and GPM by the manual alone. Source: nvidia-smi(1), dmon.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _monitor
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvidia-smi-dmon"
TITLE = "nvidia-smi dmon: samples of each GPU"
VERSIONS = "driver 590 and older"
SOURCES = ("nvidia-smi(1), dmon",)
PROVEN = True
# Column -> (name, what it says, unit).
_COLUMNS = {
    "pwr": ("power_draw_w", "power", "W"),
    "gtemp": ("temperature_c", "temperature of the GPU", "C"),
    "mtemp": ("memory_temperature_c", "temperature of the memory", "C"),
    "sm": ("utilization_gpu_pct", "time with a kernel running", "%"),
    "mem": ("utilization_memory_pct", "time with memory traffic", "%"),
    "enc": ("utilization_encoder_pct", "encoder", "%"),
    "dec": ("utilization_decoder_pct", "decoder", "%"),
    "jpg": ("utilization_jpeg_pct", "JPEG engine", "%"),
    "ofa": ("utilization_ofa_pct", "optical flow engine", "%"),
    "mclk": ("clock_memory_mhz", "clock of the memory", "MHz"),
    "pclk": ("clock_sm_mhz", "clock of the GPU", "MHz"),
    "fb": ("memory_used_mib", "frame buffer", "MiB"),
    "bar1": ("bar1_used_mib", "BAR 1", "MiB"),
    "ccpm": ("protected_memory_used_mib", "confidential compute", "MiB"),
    "sbecc": ("ecc_single_bit_errors", "single-bit ECC errors, aggregate", None),
    "dbecc": ("ecc_double_bit_errors", "double-bit ECC errors, aggregate", None),
    "pci": ("pcie_replay_count", "PCIe replays", None),
    "rxpci": ("pcie_rx_mb_per_s", "PCIe, received", "MB/s"),
    "txpci": ("pcie_tx_mb_per_s", "PCIe, sent", "MB/s"),
    "pviol": ("power_violation_pct", "time capped for power", "%"),
    "tviol": ("thermal_violation", "1 while capped for temperature", None),
}
FIELDS = {
    "node": {"sample_count": Field(int, "rows of the GPU that has most")},
    "gpu": {
        "sample_count": Field(int, "rows of this GPU"),
        "other": Field(dict, "columns without a name here, last sample; -s and GPM have many"),
        **{
            name: Field(int, f"{says}, last sample", unit) for name, says, unit in _COLUMNS.values()
        },
        **{
            f"{name}_samples": Field(list, f"{says}, all samples", unit)
            for name, says, unit in _COLUMNS.values()
        },
    },
}
_MAX_SAMPLES = 100000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    columns = {one.lower() for one in _monitor.header(text)}
    if "pid" not in columns and columns & set(_COLUMNS):
        return 97
    return 60 if not columns and _monitor.is_refusal(text, "dmon") else 0


def read(data: Data) -> Reading:
    """Read the samples. Entities: "", `gpu:<n>` with the last value and all of them."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    found: dict[int, Entity] = {}
    names = {column: name for column, (name, _says, _unit) in _COLUMNS.items()}
    for index, row in enumerate(_monitor.rows(data, reading)):
        if index == _MAX_SAMPLES:
            reading.note("limited", f"more than {_MAX_SAMPLES} samples; the rest is not kept")
            break
        gpu = found.setdefault(row.gpu, Entity(f"gpu:{row.gpu}", values={"sample_count": 0}))
        sample = Entity(gpu.path)
        _monitor.fill(reading, row, sample, names)
        _other(gpu, row)
        gpu.values["sample_count"] = int(str(gpu.values["sample_count"])) + 1
        for name, value in sample.values.items():
            gpu.values[name] = value
            listed = gpu.values.setdefault(f"{name}_samples", [])
            if isinstance(listed, list):
                listed.append(value)
        gpu.notes.update(sample.notes)
    if not found:
        return _monitor.nothing(reading, data)
    most = max(int(str(gpu.values["sample_count"])) for gpu in found.values())
    reading.add(Entity("", values={"sample_count": most}))
    for gpu in found.values():
        reading.add(gpu)
    return reading


def _other(gpu: Entity, row: _monitor.Row) -> None:
    """Keep what has no name here, such as the columns of --gpm-metrics."""
    strange = set(row.words) - set(_COLUMNS) - {"gpu", "date", "time"}
    if strange:
        gpu.values["other"] = {
            column: _monitor.number(row.words[column]) for column in sorted(strange)
        }
