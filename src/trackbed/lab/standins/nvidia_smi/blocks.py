"""The parts of `-q` that are lists: processes, MIG devices, supported clocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .values import NOTHING

# The label column of processes has kept the width that older drivers gave every line.
_PROCESS_WIDTH = 34


def supported_clocks(view: Mapping[str, Any]) -> list[tuple[int, list[int]]]:
    """Return each memory clock with its graphics clocks in MHz, the fastest first."""
    return [
        (entry["memory"], list(_steps(entry["max"], entry["min"], entry["step"])))
        for entry in view["clocks"]["supported"]
    ]


def _steps(high: float, low: float, step: float) -> Iterator[int]:
    number = 0
    while high - number * step >= low:
        yield int(high - number * step)
        number += 1


def processes_text(view: Mapping[str, Any]) -> list[str]:
    """Return the lines below the label of the processes, without the indentation of a GPU."""
    lines = []
    for process in view["processes"]:
        facts = [
            ("GPU instance ID", NOTHING),
            ("Compute instance ID", NOTHING),
            ("Process ID", process["pid"]),
            ("    Type", process["type"]),
            ("    Name", process["name"]),
            ("    Used GPU Memory", f"{process['memory_mib']} MiB"),
        ]
        lines += [f"    {label:<{_PROCESS_WIDTH}}: {value}" for label, value in facts]
    return lines


def clocks_text(view: Mapping[str, Any], width: int) -> list[str]:
    """Return the lines below the label of the supported clocks, indented from the GPU on."""
    lines = []
    for memory, graphics in supported_clocks(view):
        lines.append(f"{'        Memory':<{width}}: {memory} MHz")
        lines += [f"{'            Graphics':<{width}}: {clock} MHz" for clock in graphics]
    return lines


def processes_xml(view: Mapping[str, Any]) -> list[Any]:
    """Return the elements of the processes: (tag, text or elements)."""
    return [
        (
            "process_info",
            [
                ("gpu_instance_id", NOTHING),
                ("compute_instance_id", NOTHING),
                ("pid", str(process["pid"])),
                ("type", process["type"]),
                ("process_name", process["name"]),
                ("used_memory", f"{process['memory_mib']} MiB"),
            ],
        )
        for process in view["processes"]
    ]


def clocks_xml(view: Mapping[str, Any]) -> list[Any]:
    """Return the elements of the supported clocks."""
    return [
        (
            "supported_mem_clock",
            [
                ("value", f"{memory} MHz"),
                *(("supported_graphics_clock", f"{clock} MHz") for clock in graphics),
            ],
        )
        for memory, graphics in supported_clocks(view)
    ]


def mig_xml(view: Mapping[str, Any]) -> list[Any]:
    """Return the elements of the MIG devices; none where there are none."""
    return [_mig_device(device) for device in view["mig"]["devices"]] if view["now"]["mig"] else []


# What a MIG device shares with others: element -> key of machine.json.
_ENGINES = (
    ("multiprocessor_count", "sm"),
    ("copy_engine_count", "copy"),
    ("encoder_count", "encoder"),
    ("decoder_count", "decoder"),
    ("ofa_count", "ofa"),
    ("jpg_count", "jpeg"),
)


def _mig_device(device: Mapping[str, Any]) -> Any:
    shared = device["shared"]
    used, total = device["used_mib"], device["total_mib"]
    bar1_used, bar1_total = device["bar1_used_mib"], device["bar1_total_mib"]
    return (
        "mig_device",
        [
            ("index", str(device["index"])),
            ("gpu_instance_id", str(device["gpu_instance"])),
            ("compute_instance_id", str(device["compute_instance"])),
            ("device_attributes", [("shared", [(tag, str(shared[key])) for tag, key in _ENGINES])]),
            (
                "ecc_error_count",
                [("volatile_count", [("sram_uncorrectable", str(device["sram_uncorrectable"]))])],
            ),
            (
                "fb_memory_usage",
                [
                    ("total", f"{total} MiB"),
                    ("reserved", "0 MiB"),
                    ("used", f"{used} MiB"),
                    ("free", f"{total - used} MiB"),
                ],
            ),
            (
                "bar1_memory_usage",
                [
                    ("total", f"{bar1_total} MiB"),
                    ("used", f"{bar1_used} MiB"),
                    ("free", f"{bar1_total - bar1_used} MiB"),
                ],
            ),
        ],
    )
