"""`dcgmi discovery -l`, `nvlink` and `health`, and what `-v` says of the build."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator
from typing import Any

from ..common.driver import numbers
from . import judge

_ID, _INFO = 6, 68
# DCGM_NVLINK_MAX_LINKS_PER_GPU of dcgm_structs.h
_MOST_LINKS = 18
# Release notes of DCGM. What else `-v` says of a build is made up from its version.
_DATES = {"3.1.8": "2023-04-27", "4.5.3": "2026-06-11", "4.6.0": "2026-07-06"}
_COUNTERS = (
    ("CRC FLIT Error", "crc"),
    ("CRC Data Error", None),
    ("Replay Error", "replay"),
    ("Recovery Error", "recovery"),
)


def build(version: str) -> Iterator[str]:
    """Return `-v`: of the client, and of the host engine, which comes in the same package."""
    for title in ("", "Hostengine build info:"):
        yield from ("", title) if title else ("",)
        commit = hashlib.sha1(version.encode()).hexdigest()  # noqa: S324  (it looks like git's)
        branch = "_".join(version.split(".")[:2])
        yield from (
            f"Version : {version}",
            f"Build ID : {numbers(version)[-1]}",
            f"Build Date : {_DATES.get(version, '2026-01-01')}",
            "Build Type : Release",
            f"Commit ID : {commit}",
            f"Branch Name : rel_dcgm_{branch}",
            f"CPU Arch : {platform.machine()}",
            f"Build Platform : Linux 4.15.0-180-generic #189-Ubuntu SMP {platform.machine()}",
            f"CRC : {commit[:32]}",
        )


def discovery(views: list[dict[str, Any]], switches: int, version: str) -> Iterator[str]:
    """Return `discovery -l`."""
    rule = f"+{'-' * (_ID + 2)}+{'-' * (_INFO + 2)}+"
    yield f"{len(views)} GPU{'s' * (len(views) != 1)} found."
    yield from (rule, f"| {'GPU ID':<{_ID}} | {'Device Information':<{_INFO}} |", rule)
    for view in views:
        facts = (
            f"Name: {view['name']}",
            f"PCI Bus ID: {view['now']['bus_id']}",
            f"Device UUID: {view['uuid']}",
        )
        for number, fact in enumerate(facts):
            label = "" if number else str(view["index"])
            yield f"| {label:<{_ID}} | {fact:<{_INFO}} |"
        yield rule
    yield f"{switches} NvSwitches found."
    yield from _short("Switch ID", [str(number) for number in range(switches)])
    if numbers(version) >= (4,):
        yield "0 ConnectX found."
        yield from _short("ConnectX", [])
        yield "0 CPUs found."
        yield from (rule, f"| {'CPU ID':<{_ID}} | {'Device Information':<{_INFO}} |", rule, rule)


def _short(title: str, values: list[str]) -> Iterator[str]:
    rule = f"+{'-' * (len(title) + 2)}+"
    yield from (rule, f"| {title} |", rule)
    yield from (f"| {value:<{len(title)}} |" for value in values)
    yield rule


def links(views: list[dict[str, Any]], switches: int) -> Iterator[str]:
    """Return `nvlink -s`. A switch's ports are those that GPUs of this node lead to."""
    title = "NvLink Link Status"
    rule = f"+{'-' * (len(title) + 4)}+"
    yield from (rule, f"|  {title}  |", rule, "GPUs:")
    for view in views:
        letters = [judge.link_letter(link) for link in view["nvlink"]["links"]]
        letters += ["_"] * (_MOST_LINKS - len(letters))
        yield f"    gpuId {view['index']}:"
        yield f"        {' '.join(letters)}"
    yield "NvSwitches:"
    for number in range(switches):
        name = f"nvswitch:{number}"
        ports = [
            judge.link_letter(link)
            for view in views
            for link in view["nvlink"]["links"]
            if link["remote"] == name
        ]
        yield f"    physicalId {number}:"
        yield f"        {' '.join(ports)}"
    if not switches:
        yield "    No NvSwitches found."
    yield from ("", "Key: Up=U, Down=D, Disabled=X, Not Supported=_")


def _errors(view: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    for number, link in enumerate(view["nvlink"]["links"]):
        counts = [(name, link["errors"].get(key, 0) if key else 0) for name, key in _COUNTERS]
        yield f"Link {number}", counts


def errors(view: dict[str, Any]) -> Iterator[str]:
    """Return `nvlink -e -g N`."""
    left, right = 29, 48
    yield f"+{'-' * left}+{'-' * right}+"
    for title in ("NVLINK Error Counts", f"GPU {view['index']}"):
        yield f"| {title:<{left + right - 1}} |"
    yield f"+{'=' * left}+{'=' * right}+"
    for link, counts in _errors(view):
        yield f"| {link:<{left - 2}} | {'':<{right - 2}} |"
        for name, count in counts:
            yield f"| {f'-> {name}':<{left - 2}} | {count:<{right - 2}} |"
    yield f"+{'-' * left}+{'-' * right}+"


def errors_json(view: dict[str, Any]) -> str:
    """Return `nvlink -e -g N -j`."""
    body = {
        link: {"children": {name: {"value": str(count)} for name, count in counts}}
        for link, counts in _errors(view)
    }
    header = ["NVLINK Error Counts", f"GPU {view['index']}"]
    return json.dumps({"body": body, "header": header}, indent=3)


def health(views: list[dict[str, Any]]) -> Iterator[str]:
    """Return `health -c`: what the watches of memory, InfoROM, links, clocks and power see."""
    seen = {}
    for view in views:
        found = [one for one in judge.findings(view) if one.kind != judge.BANDWIDTH]
        found = [one for one in found if one.part not in ("Persistence Mode", "Fabric Manager")]
        if found:
            seen[view["index"]] = found
    left, right = 27, 58
    rule = f"+{'-' * left}+{'-' * right}+"

    def row(label: str, text: str) -> str:
        return f"| {label:<{left - 2}} | {text:<{right - 2}} |"

    yield from (rule, f"| {'Health Monitor Report':<{left + right - 1}} |", rule.replace("-", "="))
    yield row("Overall Health", "Failure" if seen else "Healthy")
    if seen:
        yield row("GPU", "")
    for index, found in seen.items():
        yield row(f"-> {index}", "Failure")
        for one in found:
            text, label = one.text, "   -> Error"
            while text:
                yield row(label, text[: right - 2])
                text, label = text[right - 2 :], ""
    yield rule
