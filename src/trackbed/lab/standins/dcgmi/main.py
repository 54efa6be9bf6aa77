"""dcgmi: discovery, diag, nvlink, health and versions; the host engine must run for all of them.

Words and exit codes: https://github.com/NVIDIA/DCGM, dcgmi/Command.cpp and dcgm_structs.h, whose
negative numbers are the exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..common import driver as drivers
from ..common import settings
from ..common.console import say, say_all
from ..common.places import machine, place
from ..nvidia_driver import daemon
from ..nvidia_driver.daemons import HOSTENGINE_PID
from ..nvidia_smi.view import view_of
from . import diag, inventory, judge

_BAD, _NOT_CONNECTED, _NVVS_ERROR = 255, 235, 226  # DCGM_ST_BADPARAM, …_CONNECTION_NOT_VALID, …
_NSCQ = "libnvidia-nscq.so.2"
_NO_ENGINE = (
    "Error: unable to establish a connection to the specified host: localhost\n"
    "Error: Unable to connect to host engine. Host engine connection invalid/disconnected."
)
_NO_NVML = (
    "Error: Cannot perform the requested operation because NVML doesn't exist on this system."
)
_FLAGS = {"-l", "--list", "-j", "--json", "-s", "--link-status", "-e", "--errors", "-c", "--check"}
_VALUED = {"-r", "--run", "-g", "--gpuid", "--group", "-i", "--host"}


def main(version: str, argv: list[str] | None = None) -> int:
    """Run dcgmi of this version and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words == ["--version"]:
        say(f"\ndcgmi  version: {version}\n")
        return 0
    try:
        call = _call(words)
    except daemon.FailedError as error:
        say(f"PARSE ERROR: {error}")
        return _BAD
    if daemon.running(HOSTENGINE_PID) is None:
        say(_NO_ENGINE)
        return _NOT_CONNECTED
    if call is None:
        say_all(inventory.build(version))
        return 0
    command, given = call
    return _run(command, given, version)


def _call(words: list[str]) -> tuple[str, dict[str, str]] | None:
    """Return a command and its options; None for -v. Raises FailedError."""
    if words == ["-v"]:
        return None
    wanted = {"discovery": {"-l"}, "diag": {"-r"}, "nvlink": {"-s", "-e"}, "health": {"-c"}}
    command, *rest = words or [""]
    if command not in wanted:
        raise daemon.FailedError(f"the lab's stand-in does not know {command or 'no command'}")
    given = daemon.options(rest, _FLAGS, _VALUED)
    short = {"--list": "-l", "--json": "-j", "--link-status": "-s", "--errors": "-e",
             "--check": "-c", "--run": "-r", "--gpuid": "-g"}  # fmt: skip
    given = {short.get(name, name): value for name, value in given.items()}
    if not wanted[command] & set(given):
        raise daemon.FailedError(f"{command} needs one of {' '.join(sorted(wanted[command]))}")
    return command, given


def _views() -> tuple[list[dict[str, Any]], drivers.Driver]:
    """Return the GPUs that DCGM sees: none where NVML cannot be initialised."""
    driver = drivers.find()
    if driver.installed is None or driver.loaded != driver.installed:
        return [], driver
    volatile, inforom = settings.volatile(), settings.inforom()
    gpus = [gpu for gpu in machine()["gpus"] if not gpu["lost"]]
    return [view_of(gpu, volatile, inforom, driver) for gpu in gpus], driver


def _switches() -> int:
    """Return how many NVSwitches are seen: through NSCQ, so none without its library."""
    libraries = place("/usr/lib").glob(f"*/{_NSCQ}"), place("/usr/lib64").glob(_NSCQ)
    return len(machine()["nvswitches"]) if any(list(found) for found in libraries) else 0


def _run(command: str, given: dict[str, str], version: str) -> int:
    views, driver = _views()
    if command == "discovery":
        say_all(inventory.discovery(views, _switches(), version))
        return 0
    if not views:
        say(_NO_NVML)
        return _BAD
    if command == "diag":
        return _diag(given, views, version, driver.installed or "")
    if command == "health":
        say_all(inventory.health(views))
        return 0
    return _nvlink(given, views)


def _nvlink(given: dict[str, str], views: list[dict[str, Any]]) -> int:
    if "-s" in given:
        say_all(inventory.links(views, _switches()))
        return 0
    chosen = [view for view in views if str(view["index"]) == given.get("-g")]
    if not chosen:
        say("Error: nvlink -e needs the number of a GPU: -g")
        return _BAD
    if "-j" in given:
        say(inventory.errors_json(chosen[0]))
    else:
        say_all(inventory.errors(chosen[0]))
    return 0


def _diag(given: dict[str, str], views: list[dict[str, Any]], version: str, driver: str) -> int:
    level = {"1": 1, "quick": 1, "short": 1, "2": 2, "medium": 2, "3": 3, "long": 3}.get(
        given["-r"]
    )
    if level is None:
        say(f"Error: the lab's stand-in does not run diagnostics of level {given['-r']}")
        return _BAD
    asked = [one.replace("gpu:", "") for one in given.get("-i", "").split(",") if one]
    chosen = [view for view in views if not asked or str(view["index"]) in asked]
    tests = judge.run(chosen, level)
    lines: Iterable[str] = (
        [diag.printed(diag.document(tests, chosen, version, driver), version)]
        if "-j" in given
        else diag.table(tests, chosen, version, driver)
    )
    say_all(lines)
    return _NVVS_ERROR if any(test.overall == judge.FAIL for test in tests) else 0
