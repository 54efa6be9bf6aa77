# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of gpu_burn: which GPUs computed wrongly under load.

Format: progress lines that overwrite each other (carriage returns) with counts of
errors and temperatures by GPU, and at the end `Tested N GPUs:` with OK or FAULTY
for each. Without that end the run was cut. Source: gpu-burn gpu_burn-drv.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "gpu_burn"
TITLE = "gpu_burn: wrong results under load, by GPU"
VERSIONS = "gpu-burn 1.0 to 1.1"
SOURCES = ("https://github.com/wilicc/gpu-burn",)
PROVEN = True
RESULTS = ("ok", "faulty")
FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs tested, by the last lines"),
        "progress_pct": Field(float, "largest progress that was printed", "%"),
    },
    "gpu": {
        "result": Field(str, "the tool's own word at the end", values=RESULTS),
        "name": Field(str, "product name, where it was listed before the run"),
        "error_count": Field(int, "largest count of errors that was printed"),
        "temperature_max_c": Field(int, "largest temperature that was printed", "°C"),
    },
}
_LISTED = re.compile(r"^GPU ([0-9]{1,3}): (.+?) \(UUID: (\S+)\)$")
_TESTED = re.compile(r"^Tested ([0-9]{1,4}) GPUs:")
_RESULT = re.compile(r"^\s+GPU ([0-9]{1,3}): (\S+)\s*$")
_PROGRESS = re.compile(r"^\s*([0-9]{1,3}(?:\.[0-9]{1,3})?)%\s+proc'd:")
_ERRORS = re.compile(r"errors:\s*([0-9 ()!A-Za-z-]+?)\s+temps:")
_TEMPS = re.compile(r"temps:\s*([0-9 CF-]+)")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^Tested [0-9]+ GPUs:", text) or "proc'd:" in text:
        return 97
    return 96 if "bytes each, thus performing" in text else 0


def read(data: Data) -> Reading:
    """Read one run. Entities: "" and `gpu:N`."""
    reading = Reading(KIND, tool_name="gpu_burn")
    node = reading.add(Entity(""))
    is_end = False
    for line_number, line in numbered_lines(decode(data)):
        tested, result, listed = _TESTED.match(line), _RESULT.match(line), _LISTED.match(line)
        if tested:
            node.values["gpu_count"] = int(tested.group(1))
            is_end = True
        elif listed:
            gpu = _gpu(reading, int(listed.group(1)))
            gpu.values["name"] = listed.group(2).strip() or None
            gpu.ids["uuid"] = listed.group(3)
        elif result and is_end:
            _result(reading, line_number, int(result.group(1)), result.group(2))
        elif "proc'd:" in line:
            _progress(reading, node, line)
    return _finish(reading, node, is_end)


def _gpu(reading: Reading, index: int) -> Entity:
    return reading.entity(f"gpu:{index}") or reading.add(Entity(f"gpu:{index}"))


def _result(reading: Reading, line: int, index: int, word: str) -> None:
    gpu = _gpu(reading, index)
    gpu.values["result"] = word.lower()
    if word.lower() not in RESULTS:
        gpu.values["result"] = word
        gpu.notes["result"] = "verbatim"
        reading.note(
            "unknown_value", "neither OK nor FAULTY", line=line, entity=gpu.path, verbatim=word
        )


def _progress(reading: Reading, node: Entity, line: str) -> None:
    percent = _PROGRESS.match(line)
    if percent:
        before = node.values.get("progress_pct")
        so_far = before if isinstance(before, float) else 0.0
        node.values["progress_pct"] = max(so_far, float(percent.group(1)))
    errors, temps = _ERRORS.search(line), _TEMPS.search(line)
    if errors:
        for index, part in enumerate(re.split(r"\s+-\s+", errors.group(1).strip())[:256]):
            count = re.match(r"[0-9]{1,18}", part)
            if count:
                _largest(_gpu(reading, index), "error_count", int(count.group()))
    if temps:
        for index, part in enumerate(re.split(r"\s+-\s+", temps.group(1).strip())[:256]):
            degrees = re.match(r"([0-9]{1,3}) C", part)
            if degrees:
                _largest(_gpu(reading, index), "temperature_max_c", int(degrees.group(1)))


def _largest(gpu: Entity, name: str, value: int) -> None:
    before = gpu.values.get(name)
    gpu.values[name] = max(before if isinstance(before, int) else 0, value)


def _finish(reading: Reading, node: Entity, is_end: bool) -> Reading:
    gpus = [one for one in reading.entities if one.path.startswith("gpu:")]
    if not is_end:
        reading.note("truncated", "no `Tested N GPUs:` at the end: the run gave no result")
        if not gpus or "progress_pct" not in node.values:
            reading.quality = UNREADABLE
    elif sum("result" in one.values for one in gpus) != node.values["gpu_count"]:
        reading.note("inconsistent", "not as many results as GPUs that were tested")
    return reading
