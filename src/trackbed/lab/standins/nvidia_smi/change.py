"""What nvidia-smi changes: persistence, power, clocks, MIG, ECC, compute mode; and the reset.

The texts are those of public outputs, but for the two that reset clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..common import settings
from ..common.driver import Driver
from ..common.places import holders
from .view import keeps_mig

OK, INVALID, UNSUPPORTED, DENIED, OTHER = 0, 2, 3, 4, 255
_ENDING = "Terminating early due to previous errors."
_COMPUTE = {
    "0": "Default", "DEFAULT": "Default", "2": "Prohibited", "PROHIBITED": "Prohibited",
    "3": "Exclusive_Process", "EXCLUSIVE_PROCESS": "Exclusive_Process",
}  # fmt: skip
_ON = {"1": True, "ON": True, "ENABLED": True, "0": False, "OFF": False, "DISABLED": False}
_BUSY = (
    "{count} device{s} currently being used by one or more other processes (e.g., Fabric Manager, "
    "CUDA application, graphics application such as an X server, or a monitoring application such "
    "as another instance of nvidia-smi). Please first kill all processes using this device and "
    "all compute applications running in the system."
)
_PENDING = (
    "{bus} is currently being used by one or more other processes (e.g. CUDA application or a "
    "monitoring application such as another instance of nvidia-smi). Please first kill all "
    "processes using the device and retry the command or reboot the system to make MIG mode "
    "effective."
)


class FailureError(Exception):
    """The change was refused: what the program says, and its exit code."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.code = code


def apply(name: str, value: str, views: Sequence[Any], driver: Driver) -> list[str]:
    """Make one kind of change on these GPUs and return what is said. Raises FailureError."""
    if name == "reset":
        return _reset(views)
    one = _CHANGES[name]
    lines: list[str] = []
    with settings.changing() as (volatile, inforom):
        for view in views:
            own = settings.of_gpu(volatile, view["uuid"])
            kept = inforom.setdefault(view["uuid"], {})
            lines += one(value, view, own, kept, driver)
    return [*lines, "All done.", *(["Reboot required."] if name == "ecc" else [])]


def denied(name: str, view: Any) -> FailureError:
    """Return the refusal for somebody who is not root."""
    bus = view["now"]["bus_id"]
    what = {
        "persistence": f"Unable to set persistence mode for GPU {bus}",
        "power_limit": f"Failed to set power management limit for GPU {bus}",
        "mig": f"Unable to set MIG mode for GPU {bus}",
        "ecc": f"Unable to set ECC mode for GPU {bus}",
        "compute": f"Unable to set the compute mode for GPU {bus}",
        "reset": f"Unable to reset GPU {bus}",
    }.get(name, f"The current user does not have permission to change clocks for GPU {bus}")
    return FailureError(DENIED, f"{what}: Insufficient Permissions", _ENDING)


def _switch(value: str) -> bool:
    if value.upper() not in _ON:
        raise FailureError(INVALID, f"Invalid argument: {value}", _ENDING)
    return _ON[value.upper()]


def _numbers(value: str) -> list[float]:
    try:
        found = [float(part) for part in value.split(",")]
    except ValueError:
        found = []
    if not 1 <= len(found) <= 2:
        raise FailureError(INVALID, f"Invalid argument: {value}", _ENDING)
    return found


def _persistence(value: str, view: Any, own: Any, _kept: Any, driver: Driver) -> list[str]:
    wanted, bus = _switch(value), view["now"]["bus_id"]
    word = "Enabled" if wanted else "Disabled"
    if own.get("persistence", False) == wanted:
        return [f"Persistence mode is already {word} for GPU {bus}."]
    own["persistence"] = wanted
    legacy = "Legacy " if wanted and driver.within("580-") else ""
    return [f"{word} {legacy}persistence mode for GPU {bus}."]


def _power(value: str, view: Any, own: Any, _kept: Any, _driver: Driver) -> list[str]:
    wanted, power, bus = _numbers(value)[0], view["power"], view["now"]["bus_id"]
    if not power["min_w"] <= wanted <= power["max_w"]:
        raise FailureError(
            INVALID,
            f"Provided power limit {wanted:.2f} W is not a valid power limit which should be "
            f"between {power['min_w']:.2f} W and {power['max_w']:.2f} W for GPU {bus}",
            _ENDING,
        )
    before = view["now"]["requested_w"]
    own["power_limit_w"] = wanted
    lines = [f"Power limit for GPU {bus} was set to {wanted:.2f} W from {before:.2f} W."]
    return lines + _warning(view)


def _warning(view: Any) -> list[str]:
    if view["now"]["persistence"]:
        return []
    return [
        "",
        f"Warning: persistence mode is disabled on device {view['now']['bus_id']}. See the Known "
        "Issues section of the nvidia-smi(1) man page for more information. Run with [--help | -h] "
        "switch to get more information on how to enable persistence mode.",
        "",
    ]


def _lock(kind: str, word: str) -> Callable[..., list[str]]:
    def change(value: str, view: Any, own: Any, _kept: Any, _driver: Driver) -> list[str]:
        found = [int(number) for number in _numbers(value)]
        low, high = found[0], found[-1]
        own[f"locked_{kind}"] = [low, min(high, view["clocks"]["max"][kind])]
        said = f"({word}ClkMin {low}, {word}ClkMax {high})"
        name = "GPU" if kind == "graphics" else "Memory"
        return [f'{name} clocks set to "{said}" for GPU {view["now"]["bus_id"]}', *_warning(view)]

    return change


def _unlock(kind: str) -> Callable[..., list[str]]:
    def change(_value: str, view: Any, own: Any, _kept: Any, _driver: Driver) -> list[str]:
        own.pop(f"locked_{kind}", None)
        name = "GPU" if kind == "graphics" else "Memory"
        return [f"{name} clocks have been reset for GPU {view['now']['bus_id']}."]

    return change


def _mig(value: str, view: Any, own: Any, kept: Any, _driver: Driver) -> list[str]:
    wanted, bus = _switch(value), view["now"]["bus_id"]
    if view["now"]["mig"] is None:
        raise FailureError(
            UNSUPPORTED, f"Unable to enable MIG Mode for GPU {bus}: Not Supported", _ENDING
        )
    running = view["now"]["mig"]
    word = "Enabled" if wanted else "Disabled"
    if not keeps_mig(view):
        own["mig"] = wanted
        return [f"{word} MIG Mode for GPU {bus}"]
    kept["mig"] = wanted
    if running == wanted or not _clients(view):
        own.pop("mig", None)
        return [f"{word} MIG Mode for GPU {bus}"]
    own["mig"] = running
    state = "enable" if wanted else "disable"
    return [
        f"Warning: MIG mode is in pending {state} state for GPU {bus}:In use by another client",
        _PENDING.format(bus=bus),
    ]


def _ecc(value: str, view: Any, own: Any, kept: Any, _driver: Driver) -> list[str]:
    wanted, bus = _switch(value), view["now"]["bus_id"]
    word = "Enabled" if wanted else "Disabled"
    if view["now"]["ecc_pending"] == wanted:
        return [f"ECC support is already {word} for GPU {bus}."]
    own["ecc"] = view["now"]["ecc"]
    kept["ecc"] = wanted
    return [f"{word} ECC support for GPU {bus}."]


def _compute(value: str, view: Any, own: Any, _kept: Any, _driver: Driver) -> list[str]:
    wanted, bus = _COMPUTE.get(value.upper()), view["now"]["bus_id"]
    if wanted is None:
        raise FailureError(INVALID, f"Invalid compute mode: {value}", _ENDING)
    if view["now"]["compute_mode"] == wanted:
        return [f"Compute mode is already set to {wanted.upper()} for GPU {bus}."]
    own["compute_mode"] = wanted
    return [f"Set compute mode to {wanted.upper()} for GPU {bus}."]


def _clear_ecc(value: str, view: Any, own: Any, _kept: Any, _driver: Driver) -> list[str]:
    kind = {"0": "volatile", "VOLATILE": "volatile", "1": "aggregate", "AGGREGATE": "aggregate"}
    if value.upper() not in kind:
        raise FailureError(INVALID, f"Invalid argument: {value}", _ENDING)
    which = kind[value.upper()]
    own.setdefault("cleared", {})[which] = view["ecc"][which]
    return [f"Reset {which} ECC errors to zero for GPU {view['now']['bus_id']}."]


def _clients(view: Any) -> bool:
    """Say whether somebody keeps the GPU: persistence mode, a job, or a program with its file."""
    device = f"/dev/nvidia{view['minor']}"
    return bool(view["now"]["persistence"] or view["processes"] or holders(device))


def _reset(views: Sequence[Any]) -> list[str]:
    busy = [view for view in views if _clients(view)]
    if busy:
        raise FailureError(
            OTHER,
            "The following GPUs could not be reset:",
            *(f"  GPU {view['now']['bus_id']}: In use by another client" for view in busy),
            "",
            _BUSY.format(count=len(busy), s="s are" if len(busy) > 1 else " is"),
        )
    lines = []
    with settings.changing() as (volatile, _inforom):
        for view in views:
            volatile.get("gpus", {}).pop(view["uuid"], None)
            lines.append(f"GPU {view['now']['bus_id']} was successfully reset.")
    return [*lines, "All done."]


_CHANGES: dict[str, Callable[..., list[str]]] = {
    "persistence": _persistence,
    "power_limit": _power,
    "lock_graphics": _lock("graphics", "gpu"),
    "reset_graphics": _unlock("graphics"),
    "lock_memory": _lock("memory", "mem"),
    "reset_memory": _unlock("memory"),
    "mig": _mig,
    "ecc": _ecc,
    "compute": _compute,
    "clear_ecc": _clear_ecc,
}
