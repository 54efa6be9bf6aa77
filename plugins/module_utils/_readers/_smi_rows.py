# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of nvidia-smi's default table, and what their cells say.

Private to trackbed.cluster. Cells are told apart by their shape, not by their place:
the table has had three widths, and pages that show it drop blanks and bars.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Value
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

_GONE = r"N/A|\[N/A\]|ERR!|Unknown|Not Supported"
_PCI = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_BUS = re.compile(rf"({_PCI})\s*(On|Off|{_GONE})?(?=\s|\||$)")
_NO_BUS = re.compile(rf"^({_GONE})\s+(On|Off|{_GONE})$")
_LEFT = re.compile(r"^\s*([0-9]{1,3})\s+(\S.{0,120}?)\s*$")
_MODE = re.compile(rf"^(.*?)\s*(?<![A-Za-z0-9])(On|Off|WDDM|TCC|MCDM|{_GONE})$")
_POWER = re.compile(
    rf"^({_GONE}|[0-9]{{1,3}}\s?%)\s*({_GONE}|[0-9]{{1,3}}\s?C)\s*({_GONE}|P[0-9]{{1,2}})\s*"
    rf"({_GONE}|[0-9]{{1,6}}(?:\.[0-9]{{1,3}})?\s?W)\s*/\s*"
    rf"({_GONE}|[0-9]{{1,6}}(?:\.[0-9]{{1,3}})?\s?W)$"
)
_MEMORY = re.compile(
    rf"^({_GONE}|[0-9]{{1,9}}\s?Mi?B)\s*/\s*({_GONE}|[0-9]{{1,9}}\s?Mi?B)$", re.IGNORECASE
)
_LOAD = re.compile(rf"^({_GONE}|[0-9]{{1,3}}\s?%)\s*(\S.{{0,30}})?$")
_COMPUTE = {
    "default": "default",
    "e. process": "exclusive_process",
    "exclusive_process": "exclusive_process",
    "e. thread": "exclusive_thread",
    "prohibited": "prohibited",
}
_MIG = re.compile(r"^([0-9]{1,3})\s+([0-9]{1,4}|N/A)\s+([0-9]{1,4}|N/A)\s+([0-9]{1,4})$")
_SHARED = ("copy_engine_count", "encoder_count", "decoder_count", "ofa_count", "jpeg_count")
_PROCESS = re.compile(
    r"^([0-9]{1,3})\s+(?:(N/A|[0-9]{1,4})\s+(N/A|[0-9]{1,4})\s+)?([0-9]{1,10})\s+"
    r"([CGM](?:\+[CGM])*)\s+(\S.{0,200}?)?\s+([0-9]{1,9}\s?Mi?B|N/A)$"
)
_NO_PROCESSES = re.compile(r"^([0-9]{1,3})\s+(?:N/A\s+N/A\s+)?(Not Supported|ERROR: .{1,60}|ERR!)$")
Cells = t.Dict[str, t.Tuple[Value, t.Union[str, None]]]
"""Name of a value -> the value and its note."""


def cells_of(line: str) -> list[str] | None:
    """Return the cells between the bars; None where the line has no bar."""
    start = line.find("|")
    if start < 0:
        return None
    inner = line[start + 1 :].rstrip()
    return [one.strip() for one in (inner[:-1] if inner.endswith("|") else inner).split("|")]


def first_row(cells: list[str]) -> tuple[int, Entity, Cells] | None:
    """Return index, entity and values of the first row of a GPU."""
    found = _BUS.search(" | ".join(cells))
    if found:
        joined = " | ".join(cells)
        left, right = joined[: found.start()].rstrip(" |"), joined[found.end() :].strip(" |")
        bus, display = found.group(1), found.group(2)
    else:
        no_bus = _NO_BUS.match(cells[1]) if len(cells) == 3 else None
        if no_bus is None:
            return None
        left, right, bus, display = cells[0], cells[2], None, no_bus.group(2)
    name = _LEFT.match(left)
    if name is None or "|" in name.group(2):
        return None
    entity = Entity(f"gpu:{int(name.group(1))}", {"pci": pci_address(bus) if bus else None})
    values = _name(name.group(2))
    if display:
        on = {"On": True, "Off": False}.get(display)
        values["display_active"] = (on, None if on is not None else absence(display))
    values.update(_ecc(right))
    return int(name.group(1)), entity, values


def _name(text: str) -> Cells:
    mode = _MODE.match(text)
    if mode is None:
        return {**_product(text), "persistence_mode": (None, "unreadable")}
    name, word = mode.group(1).strip(), mode.group(2)
    if not name:  # a card that does not answer: its only word is the name
        return {"name": (None, "unreadable"), "persistence_mode": (None, "unreadable")}
    values = _product(name)
    if word in ("WDDM", "TCC", "MCDM"):
        values["driver_model"] = (word.lower(), None)
        return values
    state = {"On": "enabled", "Off": "disabled"}.get(word)
    values["persistence_mode"] = (state, None if state else absence(word))
    return values


def _product(name: str) -> Cells:
    gone = absence(name)
    if gone:
        return {"name": (None, gone)}
    return {"name": (name, "rounded" if name.endswith("...") else None)}


def _ecc(text: str) -> Cells:
    """Read `Volatile Uncorr. ECC`: a count, Off, or On in MIG mode, where each device counts."""
    if re.match(r"^[0-9]{1,18}$", text):
        return {"ecc_mode": ("enabled", None), "ecc_volatile_uncorrected": (int(text), None)}
    if text in ("Off", "On"):
        mode = {"Off": "disabled", "On": "enabled"}[text]
        return {"ecc_mode": (mode, None), "ecc_volatile_uncorrected": (None, "not_supported")}
    gone = absence(text) or "unreadable"
    return {"ecc_mode": (None, gone), "ecc_volatile_uncorrected": (None, gone)}


def second_row(cells: list[str]) -> Cells | None:
    """Return fan, temperature, power, memory and load; None where the row is another one."""
    power = _POWER.match(cells[0])
    if power is None:
        return None
    fan, temperature, state, draw, cap = power.groups()
    values: Cells = {
        "fan_speed_pct": _number(fan),
        "temperature_c": _number(temperature),
        "performance_state": (state, None) if state[0] == "P" else (None, absence(state)),
        "power_draw_w": _number(draw, float),
        "power_limit_w": _number(cap, float),
    }
    memory = _MEMORY.match(cells[1]) if len(cells) > 1 else None
    gone = (absence(cells[1]) if len(cells) > 1 else None) or "unreadable"
    values["memory_used_mib"] = _number(memory.group(1)) if memory else (None, gone)
    values["memory_total_mib"] = _number(memory.group(2)) if memory else (None, gone)
    load = _LOAD.match(cells[2]) if len(cells) > 2 else None
    values["utilization_gpu_pct"] = _number(load.group(1)) if load else (None, "unreadable")
    values["compute_mode"] = _compute(load.group(2) or "" if load else "")
    return values


def _compute(word: str) -> tuple[Value, str | None]:
    if not word:
        return None, "unreadable"
    gone = absence(word)
    known = _COMPUTE.get(word.lower())
    return (None, gone) if gone else (known or word, None if known else "verbatim")


def _number(word: str, kind: type = int) -> tuple[Value, str | None]:
    gone = absence(word)
    digits = re.match(r"^[0-9.]+", word)
    if gone or digits is None:
        return None, gone or "unreadable"
    return (float(digits.group(0)) if kind is float else int(float(digits.group(0)))), None


def third_row(cells: list[str]) -> Cells | None:
    """Return the MIG mode; None where the row is another one.

    An asterisk marks a change that waits for a reset. Which of the two modes is in
    force then is not printed, so the word is kept as it is.
    """
    if len(cells) != 3 or cells[0] or cells[1] or not cells[2]:
        return None
    word = cells[2]
    known = {"Enabled": "enabled", "Disabled": "disabled"}.get(word)
    if known:
        return {"mig_mode": (known, None)}
    gone = absence(word)
    return {"mig_mode": (None, gone) if gone else (word, "verbatim")}


def mig_row(cells: list[str]) -> tuple[str, Cells] | None:
    """Return path and values of the first row of a MIG device."""
    ids = _MIG.match(cells[0]) if len(cells) >= 2 else None
    if ids is None:
        return None
    values: Cells = {
        "gpu_instance_id": _number(ids.group(2)),
        "compute_instance_id": _number(ids.group(3)),
    }
    values.update(mig_memory(cells[1], "memory"))
    counts = re.match(
        r"^([0-9]{1,6})\s+([0-9]{1,18}|N/A|ERR!)$", cells[2] if len(cells) > 2 else ""
    )
    if counts:
        values["sm_count"] = _number(counts.group(1))
        values["ecc_volatile_uncorrected"] = _number(counts.group(2))
    shared = cells[3].split() if len(cells) > 3 else []
    if len(shared) == len(_SHARED):
        values.update({name: _number(word) for name, word in zip(_SHARED, shared)})
    return f"gpu:{int(ids.group(1))}/mig:{int(ids.group(4))}", values


def mig_memory(cell: str, what: str) -> Cells:
    """Return `<what>_used_mib` and `<what>_total_mib` of a MIG device."""
    found = _MEMORY.match(cell)
    if found is None:
        return {}
    return {
        f"{what}_used_mib": _number(found.group(1)),
        f"{what}_total_mib": _number(found.group(2)),
    }


def process_row(text: str) -> tuple[str, int, Cells] | None:
    """Return the GPU's path, the process and its values."""
    found = _PROCESS.match(text)
    if found is None:
        return None
    gpu, instance, compute, pid, kind, command, memory = found.groups()
    values: Cells = {"pid": (int(pid), None), "type": (kind, None)}
    gone = absence((command or "Not Found").strip("[]"))
    values["command"] = (None, "unreadable") if gone else (command, None)
    values["memory_used_mib"] = _number(memory)
    for name, word in (("gpu_instance_id", instance), ("compute_instance_id", compute)):
        if word:
            values[name] = _number(word)
    return f"gpu:{int(gpu)}", int(pid), values


def no_processes(text: str) -> str | None:
    """Return the path of a GPU whose processes cannot be listed."""
    found = _NO_PROCESSES.match(text)
    return f"gpu:{int(found.group(1))}" if found else None
