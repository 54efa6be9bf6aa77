"""`nvidia-smi` without options: the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..common.driver import Driver
from .tree import unreadable

_WIDTH = 89
_LINE = f"+{'-' * _WIDTH}+"
_COLUMNS = f"+{'-' * 41}+{'-' * 24}+{'-' * 22}+"
_HEADS = (
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
    "|                                         |                        |               MIG M. |",
)
_MIG_HEADS = (
    "| MIG devices:                                                                            |",
    "+------------------+----------------------------------+-----------+-----------------------+",
    "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |",
    "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |",
    "|                  |                                  |        ECC|                       |",
    "|==================+==================================+===========+=======================|",
)
_MIG_LINE = _MIG_HEADS[1]
_COMPUTE = {
    "Default": "Default",
    "Exclusive_Process": "E. Process",
    "Prohibited": "Prohibited",
}


def report(views: Sequence[Any], driver: Driver, now: str) -> Iterator[str]:
    """Yield the lines."""
    old = driver.within("-579")
    yield f"{now}       "
    yield _LINE
    yield _title(driver)
    yield _COLUMNS.replace("+", "|", 1) if old else _COLUMNS
    yield from _HEADS
    yield f"|{'=' * 41}+{'=' * 24}+{'=' * 22}|"
    for view in views:
        yield from _gpu(view)
        yield _COLUMNS
    yield " " * _WIDTH if old else ""
    if any(view["now"]["mig"] for view in views):
        yield from _mig(views)
        yield ""
    yield from _processes(views, driver)


def _title(driver: Driver) -> str:
    version = driver.installed or ""
    if driver.within("-609"):
        rest = f"Driver Version: {version:<15}CUDA Version: {driver.cuda:<9}"
    else:
        rest = f"KMD Version: {version:<14}CUDA UMD Version: {driver.cuda:<9}"
    return f"| NVIDIA-SMI {version:<23}{rest}|"


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 3]}..."


def _gpu(view: Any) -> Iterator[str]:
    now = view["now"]
    place = f"   {now['bus_id']} {'On' if view['display']['active'] else 'Off':<3} "
    name = _short(view["name"], 27)
    first = f"{view['index']:>4}  {name:<31}{'On' if now['persistence'] else 'Off':<3} "
    memory = f"{now['memory_used']}MiB", f"{view['memory']['total_mib']}MiB"
    used = f"{memory[0]:>11} / {memory[1]:>9} "
    if unreadable(view):
        yield f"|{first}|{place}|{'ERR!':>21} |"
        yield f"|ERR!  ERR!  ERR!            N/A /  ERR!  |{used}|     ERR!         ERR!|"
        yield f"|{'':41}|{'':24}|{'ERR!':>21} |"
        return
    errors = now["totals"]["volatile"]["uncorrected"]
    ecc = "On" if now["mig"] else "Off" if now["ecc"] is False else _or_na(errors)
    draw, cap = f"{view['power']['draw_w']:.0f}W", f"{now['limit_w']:.0f}W"
    yield f"|{first}|{place}|{ecc:>21} |"
    second = f" N/A {view['temperature']['gpu_c']:>4}C{view['performance_state']:>6}{draw:>16}"
    util = now["utilization"]["gpu"]
    util = "N/A" if util is None else f"{util}%"
    yield f"|{second} / {cap:>5} |{used}|{util:>8}{_COMPUTE[now['compute_mode']]:>13} |"
    mig = "N/A" if now["mig"] is None else "Enabled" if now["mig"] else "Disabled"
    yield f"|{'':41}|{'':24}|{mig:>21} |"


def _or_na(value: Any) -> str:
    return "N/A" if value is None else str(value)


def _mig(views: Sequence[Any]) -> Iterator[str]:
    yield _LINE
    yield from _MIG_HEADS
    split = [view for view in views if view["now"]["mig"]]
    devices = [(view, one) for view in split for one in view["mig"]["devices"]]
    if not devices:
        yield f"|  {'No MIG devices found':<{_WIDTH - 2}}|"
        yield _LINE
    for view, one in devices:
        shared = one["shared"]
        place = f"{view['index']:>3}{one['gpu_instance']:>5}{one['compute_instance']:>4}"
        memory = f"{one['used_mib']}MiB", f"{one['total_mib']}MiB"
        bar1 = f"{one['bar1_used_mib']}MiB", f"{one['bar1_total_mib']}MiB"
        units = (
            f"{shared['copy']:>3}{shared['encoder']:>4}{shared['decoder']:>5}"
            f"{shared['ofa']:>5}{shared['jpeg']:>5} "
        )
        yield (
            f"|{place}{one['index']:>4}  |{memory[0]:>19} / {memory[1]:<12}|"
            f"{shared['sm']:>3}{one['sram_uncorrectable']:>7} |{units}|"
        )
        yield f"|{'':18}|{bar1[0]:>19} / {bar1[1]:<12}|{'':11}|{'':23}|"
        yield _MIG_LINE


def _processes(views: Sequence[Any], driver: Driver) -> Iterator[str]:
    """Yield the table of processes; from 570 on numbers of processes have more room."""
    room = 22 if driver.within("-569") else 28
    yield _LINE
    yield f"| {'Processes:':<{_WIDTH - 1}}|"
    head = f"|  GPU   GI   CI{'PID':>{room - 11}}   Type   Process name"
    yield f"{head:<79}GPU Memory |"
    yield f"{'|        ID   ID':<79}Usage      |"
    yield f"|{'=' * _WIDTH}|"
    rows = [(view["index"], process) for view in views for process in view["processes"]]
    if not rows:
        yield f"|  {'No running processes found':<{_WIDTH - 2}}|"
    for index, process in rows:
        start = f"|{index:>5}   N/A  N/A{process['pid']:>{room - 12}}{process['type']:>7}   "
        memory = f"{process['memory_mib']}MiB"
        name = _short(process["name"], _WIDTH - len(start) - len(memory))
        yield f"{start}{name:<{_WIDTH - len(start) - len(memory)}}{memory} |"
    yield _LINE
