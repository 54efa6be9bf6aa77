"""The two forms of `dcgmi diag`: table and JSON, of DCGM 4 and of those before it.

Forms: https://github.com/NVIDIA/DCGM, dcgmi/Diag.cpp, testing/python3/dcgm_diag_schema.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..common.driver import numbers
from . import judge
from .judge import FAIL, PASS, Test

_LABEL, _RESULT = 25, 46
_RULE = f"+{'-' * (_LABEL + 2)}+{'-' * (_RESULT + 2)}+"
# What DCGM 2 and 3 list of the software test: since when, its name, in the table, and its finding.
_PARTS = (
    ("0-2.3", "Blacklist", "Blacklist", ""),
    ("2.4", "Denylist", "Denylist", ""),
    ("0", "NVML Library", "NVML Library", ""),
    ("0", "CUDA Main Library", "CUDA Main Library", ""),
    ("0-2", "Permissions and OS Blocks", "Permissions and OS Blocks", ""),
    ("3", "Permissions and OS-related Blocks", "Permissions and OS Blocks", ""),
    ("0", "Persistence Mode", "Persistence Mode", "Persistence Mode"),
    ("0-2", "Environment Variables", "Environment Variables", ""),
    ("3", "Environmental Variables", "Environment Variables", ""),
    ("0-2.0", "Page Retirement", "Page Retirement", "Row Remap"),
    ("2.1", "Page Retirement/Row Remap", "Page Retirement/Row Remap", "Row Remap"),
    ("0", "Graphics Processes", "Graphics Processes", ""),
    ("0", "Inforom", "Inforom", "Inforom"),
    ("3", "Fabric Manager", "Fabric Manager", "Fabric Manager"),
)
_OLD_NAMES = {
    "memory": "GPU Memory",
    "pcie": "PCIe",
    "diagnostic": "Diagnostic",
    "memory_bandwidth": "Memory Bandwidth",
    "targeted_stress": "Targeted Stress",
    "targeted_power": "Targeted Power",
}
_GPU_GROUP = 1  # DCGM_FE_GPU of dcgm_structs.h


def table(
    tests: list[Test], views: list[dict[str, Any]], version: str, driver: str
) -> Iterator[str]:
    """Return the table."""
    yield "Successfully ran diagnostic for group."
    yield from (_RULE, _row("Diagnostic", "Result"), _RULE.replace("-", "="))
    if numbers(version) >= (3,):
        yield _title("Metadata", opens=True)
        yield _row("DCGM Version", version)
        yield _row("Driver Version Detected", driver)
        yield from _rows("GPU Device IDs Detected", ", ".join(_device_id(v) for v in views))
    for category in dict.fromkeys(test.category for test in tests):
        yield _title(category, opens=category == "Deployment")
        for test in (test for test in tests if test.category == category):
            yield from _new(test) if numbers(version) >= (4,) else _old(test, tests, version)
    yield _RULE


def document(
    tests: list[Test], views: list[dict[str, Any]], version: str, driver: str
) -> dict[str, Any]:
    """Return what `-j` prints."""
    new = numbers(version) >= (4,)
    categories = [
        {
            "category": category,
            "tests": [
                one
                for test in tests
                if test.category == category
                for one in ([_new_json(test)] if new else _old_json(test, tests, version))
            ],
        }
        for category in dict.fromkeys(test.category for test in tests)
    ]
    if not new:
        found: dict[str, Any] = {"test_categories": categories}
        return {"DCGM GPU Diagnostic": {**found, **_old_version(version)}}
    entities = [
        {
            "entity_id": view["index"],
            "device_id": _device_id(view),
            "serial_num": view["serial"] or "",
        }
        for view in views
    ]
    return {
        "DCGM Diagnostic": {"test_categories": categories},
        "entity_groups": [
            {"entity_group": "GPU", "entity_group_id": _GPU_GROUP, "entities": entities}
        ],
        "metadata": {"version": version, "Driver Version Detected": driver},
    }


def printed(found: dict[str, Any], version: str) -> str:
    """Return JSON with the indents of each version's writer."""
    return json.dumps(found, indent="\t" if numbers(version) >= (4,) else 3)


def _old_version(version: str) -> dict[str, str]:
    return {"version": version} if numbers(version) >= (3,) else {}


def _device_id(view: dict[str, Any]) -> str:
    return str(view["pci_id"].partition(":")[2])


def _row(label: str, text: str) -> str:
    return f"| {label:<{_LABEL}} | {text:<{_RESULT}} |"


def _rows(label: str, text: str) -> Iterator[str]:
    """Return a row, or more where the text is too long: cut anywhere, as dcgmi does it.

    A text that is cut leaves the last place of each line empty.
    """
    width = _RESULT if len(text) <= _RESULT else _RESULT - 1
    for at in range(0, len(text), width):
        yield _row("" if at else label, text[at : at + width])


def _title(name: str, *, opens: bool) -> str:
    edge = "|" if opens else "+"
    return f"{edge}{f'-----  {name}  ':-<{_LABEL + 2}}+{'-' * (_RESULT + 2)}{edge}"


def _new(test: Test) -> Iterator[str]:
    yield _row(test.name, test.overall)
    for gpu, found in test.found.items():
        for one in found:
            yield from _rows(f"Warning: GPU{gpu}", one.text)
    for gpu in test.found:
        yield _row("", f"GPU{gpu}: {test.status(gpu)}")


def _parts(version: str) -> Iterator[tuple[str, str, str]]:
    for since, name, label, part in _PARTS:
        first, _, last = since.partition("-")
        known = numbers(version)
        if numbers(first) <= known and (not last or known[: len(numbers(last))] <= numbers(last)):
            yield name, label, part


def _old(test: Test, tests: list[Test], version: str) -> Iterator[str]:
    if test.category == "Deployment":
        for _name, label, part in _parts(version):
            failed = part and FAIL in judge.parts(tests, part).values()
            yield _row(label, FAIL if failed else PASS)
            for found in test.found.values():
                for one in found:
                    if one.part == part:
                        yield from _rows("Warning", one.text)
        return
    bad = [gpu for gpu in test.found if test.status(gpu) == FAIL]
    which = "All" if len(bad) in (0, len(test.found)) else f"GPU{'s' * (len(bad) > 1)}: "
    which += "" if which == "All" else ", ".join(str(gpu) for gpu in bad)
    yield _row(_OLD_NAMES[test.name], f"{test.overall} - {which}")
    for gpu in bad:
        text = ", ".join(f"GPU {gpu}{one.text}" for one in test.found[gpu])
        yield from _rows("Warning", text)


def _new_json(test: Test) -> dict[str, Any]:
    results = []
    for gpu, found in test.found.items():
        result: dict[str, Any] = {
            "entity_group": "GPU",
            "entity_group_id": _GPU_GROUP,
            "entity_id": gpu,
            "status": test.status(gpu),
        }
        if found:
            result["warnings"] = [_warning(one) for one in found]
        results.append(result)
    return {"name": test.name, "results": results, "test_summary": {"status": test.overall}}


def _warning(one: judge.Finding) -> dict[str, Any]:
    known = {} if one.number is None else {"error_id": one.number}
    return {"warning": one.text, **known}


def _old_json(test: Test, tests: list[Test], version: str) -> Iterator[dict[str, Any]]:
    by_gpu = numbers(version) >= (3,)
    if test.category == "Deployment":
        for name, _label, part in _parts(version):
            results = judge.parts(tests, part) if part else dict.fromkeys(test.found, PASS)
            status = FAIL if FAIL in results.values() else PASS
            ids = {"gpu_ids": ",".join(map(str, results))} if by_gpu else {}
            yield {"name": name, "results": [{**ids, "status": _case(status, version)}]}
        return
    yield {
        "name": test.name if by_gpu else _OLD_NAMES[test.name],
        "results": [
            {
                "gpu_ids": str(gpu),
                "status": _case(test.status(gpu), version),
                **({"warnings": [_warning(one) for one in found]} if found else {}),
            }
            for gpu, found in test.found.items()
        ],
    }


def _case(status: str, version: str) -> str:
    return status.upper() if numbers(version) >= (3,) else status
