"""What DCGM finds on each GPU: tests by level, their results, and why.

Messages and numbers of errors: https://github.com/NVIDIA/DCGM, dcgmlib/dcgm_errors.h; the tests of
each level: nvvs/src/NvidiaValidationSuite.cpp there (4.6.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PASS, SKIP, FAIL = "Pass", "Skip", "Fail"
SOFTWARE, MEMORY, PCIE, BANDWIDTH, STRESS = "software", "memory", "pcie", "bandwidth", "stress"
# Below this share of what the model can do, the test's limits are not met.
_BANDWIDTH_PERCENT = 90
# Category, test, the findings that fail it, and the lowest level that runs it.
TESTS = (
    ("Deployment", "software", SOFTWARE, 1),
    ("Hardware", "memory", MEMORY, 2),
    ("Hardware", "diagnostic", STRESS, 3),
    ("Integration", "pcie", PCIE, 2),
    ("Stress", "memory_bandwidth", BANDWIDTH, 3),
    ("Stress", "targeted_stress", STRESS, 3),
    ("Stress", "targeted_power", STRESS, 3),
)


@dataclass(frozen=True)
class Finding:
    """One error: which tests it fails, where DCGM 3 lists it, its number and its text."""

    kind: str
    part: str
    number: int | None
    text: str


def findings(view: Mapping[str, Any]) -> list[Finding]:
    """Return what is wrong with a GPU."""
    return [*_software(view), *_memory(view), *_pcie(view), *_stress(view)]


def _software(view: Mapping[str, Any]) -> list[Finding]:
    name = f"GPU {view['index']}"
    found = []
    if not view["now"]["persistence"]:
        text = (
            f"Persistence mode for {name} is disabled. Enable persistence mode by running "
            f'"nvidia-smi -i {view["index"]} -pm 1 " as root.'
        )
        found.append(Finding(SOFTWARE, "Persistence Mode", None, text))
    if view["rows"]["supported"] and view["rows"]["failure"]:
        text = f"{name} had uncorrectable memory errors and row remapping failed."
        found.append(Finding(SOFTWARE, "Row Remap", 80, text))
    elif view["rows"]["supported"] and view["rows"]["pending"]:
        text = f"{name} had memory errors and row remappings are pending"
        found.append(Finding(SOFTWARE, "Row Remap", 85, text))
    if not view["inforom"]["valid"]:
        found.append(
            Finding(SOFTWARE, "Inforom", 9, f"A corrupt InfoROM has been detected in {name}.")
        )
    state = view["now"]["fabric"]["state"]
    if state not in (None, "Completed"):
        text = f"{name} has not finished training in its NVLink fabric: {state}"
        found.append(Finding(SOFTWARE, "Fabric Manager", None, text))
    return found


def _memory(view: Mapping[str, Any]) -> list[Finding]:
    count = view["now"]["totals"]["volatile"]["uncorrected"]
    if not count:
        return []
    text = f"Detected {count} volatile double-bit ECC error(s) in GPU {view['index']}."
    return [Finding(MEMORY, "memory", 4, text)]


def _pcie(view: Mapping[str, Any]) -> list[Finding]:
    name, pcie = f"GPU {view['index']}", view["pcie"]
    found = []
    for what, unit, least in (
        ("gen", "generation", pcie["gen_device_max"]),
        ("width", "width", pcie["width_max"]),
    ):
        if least and pcie[what] < least:
            text = (
                f"{name} is running at PCI link {unit} {pcie[what]}, which is below the minimum "
                f"allowed link {unit} of {least}"
            )
            found.append(Finding(PCIE, "pcie", None, text))
    for number, link in enumerate(view["nvlink"]["links"]):
        if link_letter(link) == "D":
            down = f"{name}'s NvLink link {number} is currently down"
            text = f"{down} Run a field diagnostic on the GPU."
            found.append(Finding(PCIE, "nvlink", 14, text))
    return found


def _stress(view: Mapping[str, Any]) -> list[Finding]:
    name, found = f"GPU {view['index']}", []
    if view["memory"]["bandwidth_percent"] < _BANDWIDTH_PERCENT:
        text = f"{name}: the memory bandwidth is below the minimum of its model"
        found.append(Finding(BANDWIDTH, "memory_bandwidth", None, text))
    events = view["events"]
    if events["hw_thermal_slowdown"] or events["sw_thermal_slowdown"]:
        text = f"Clocks are being throttled for {name} because of its temperature."
        found.append(Finding(STRESS, "thermal", 10, text))
    if view["power"]["cap_w"] is not None:
        text = f"{name}: its power limit keeps it from the target that the test asks for"
        found.append(Finding(STRESS, "power", None, text))
    return found


def link_letter(link: Mapping[str, Any]) -> str:
    """Return how DCGM shows a link: up, down, or disabled."""
    return {"active": "U", "disabled": "X"}.get(str(link["state"]), "D")


@dataclass(frozen=True)
class Test:
    """One test and what it found on each GPU."""

    category: str
    name: str
    found: dict[int, list[Finding]]

    def status(self, gpu: int) -> str:
        """Return the result on a GPU."""
        return FAIL if self.found[gpu] else PASS

    @property
    def overall(self) -> str:
        """Return the result of all GPUs together."""
        return FAIL if any(self.found.values()) else PASS


def run(views: list[dict[str, Any]], level: int) -> list[Test]:
    """Run the tests of a level."""
    found = {view["index"]: findings(view) for view in views}
    return [
        Test(
            category,
            name,
            {gpu: [f for f in all_ if f.kind == kind] for gpu, all_ in found.items()},
        )
        for category, name, kind, least in TESTS
        if level >= least
    ]


def parts(tests: list[Test], part: str) -> dict[int, str]:
    """Return the results of one part of the software test, as DCGM 3 lists them."""
    return {
        gpu: FAIL if any(one.part == part for one in found) else PASS
        for gpu, found in tests[0].found.items()
    }
