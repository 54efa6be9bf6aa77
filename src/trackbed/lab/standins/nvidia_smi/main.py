"""nvidia-smi: the parts together, its errors and its exit codes.

Exit codes: the RETURN VALUE section of the manual page nvidia-smi(1), and NVML's error numbers.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..common import driver as drivers
from ..common import settings
from ..common.driver import Driver
from ..common.places import machine
from . import change, nvlink, query, table, text, topo, tree, xml
from .options import Options, UsageError, parse
from .view import view_of

_HELP = Path(__file__).with_name("help.txt")
_PAUSE = 0.5
INVALID, NOT_FOUND, NO_DRIVER, NO_LIBRARY, LOST, MISMATCH = 2, 6, 9, 12, 15, 18
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running.\n"
)
_NO_LIBRARY = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the "
    "NVIDIA Display Driver is properly installed and present in your system.\n"
    "Please also try adding directory that contains libnvidia-ml.so to your system PATH."
)


class StopError(Exception):
    """The program ends here with a text and an exit code."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code


def main(argv: list[str] | None = None) -> int:
    """Run the program and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    try:
        options = parse(words)
        return _write(_run(options), options.values.get("file"))
    except UsageError as error:
        code, said = INVALID, str(error)
    except (StopError, change.FailureError) as error:
        code, said = error.code, str(error)
    except query.UnknownFieldError as error:
        code, said = INVALID, f"{error}\n"
    sys.stdout.write(f"{said}\n")
    return code


def _write(lines: Iterable[str], path: str | None) -> int:
    said = "".join(f"{line}\n" for line in lines)
    if path:
        Path(path).write_text(said, encoding="utf-8")
    else:
        sys.stdout.write(said)
    return 0


def _run(options: Options) -> Iterable[str]:
    driver = drivers.find()
    if "help" in options.flags:
        return _HELP.read_text(encoding="utf-8").format(version=driver.installed).splitlines()
    if driver.installed is None:
        raise StopError(NO_LIBRARY, _NO_LIBRARY)
    if "help_query_gpu" in options.flags:
        return [f'"{field.name}"' for field in query.fields(driver)]
    _check(driver)
    if "version" in options.flags:
        return _version(driver)
    _wait()
    node = machine()
    everything = _views(node, driver)
    views = _chosen(everything, options.listed("id"))
    if options.changes:
        return _change(options, views, driver)
    return _tell(options, views, node, driver, len(everything))


def _check(driver: Driver) -> None:
    """Raise StopError where NVML could not be initialised."""
    if driver.loaded is None:
        raise StopError(NO_DRIVER, _NO_DRIVER)
    if driver.loaded != driver.installed:
        raise StopError(
            MISMATCH,
            "Failed to initialize NVML: Driver/library version mismatch\n"
            f"NVML library version: {driver.nvml}",
        )


def _wait() -> None:
    """Wait as long as the driver answers nothing; whoever waits in the kernel ignores TERM."""
    while (machine().get("driver") or {}).get("hangs"):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(_PAUSE)


def _version(driver: Driver) -> list[str]:
    facts = [("NVIDIA-SMI version", driver.installed), ("NVML version", driver.nvml)]
    if driver.within("-609"):
        facts += [("DRIVER version", driver.installed), ("CUDA Version", driver.cuda)]
    else:
        facts += [
            ("DRIVER version", 'Deprecated, see "KMD version" instead'),
            ("CUDA version", 'Deprecated, see "CUDA UMD version" instead'),
            ("KMD version", driver.installed),
            ("CUDA UMD version", driver.cuda),
        ]
    return [f"{name:<20}: {value}" for name, value in facts]


def _views(node: Any, driver: Driver) -> list[Any]:
    volatile, inforom = settings.volatile(), settings.inforom()
    found = [view_of(gpu, volatile, inforom, driver) for gpu in node["gpus"]]
    for view in found:
        view["now"]["timestamp"] = _stamp()
        view["now"]["count"] = len(found)
    return found


def _chosen(views: list[Any], ids: list[str]) -> list[Any]:
    """Return the GPUs that were asked for. Raises StopError for none, and for one that is lost."""
    chosen = [view for view in views if not ids or any(_is(view, one) for one in ids)]
    if not chosen:
        raise StopError(NOT_FOUND, "No devices were found")
    for view in chosen:
        if view["lost"]:
            raise StopError(
                LOST,
                f"Unable to determine the device handle for GPU {view['pci'].upper()}: GPU is "
                "lost.  Reboot the system to recover this GPU\n",
            )
    return chosen


def _is(view: Any, one: str) -> bool:
    bus = one.upper()
    if ":" in bus:
        domain, _, rest = bus.rpartition(":")[0].rpartition(":")
        bus = f"{int(domain or '0', 16):08X}:{rest}:{bus.rpartition(':')[2]}"
    return one in (str(view["index"]), view["uuid"], view["serial"]) or bus == view["now"]["bus_id"]


def _stamp() -> str:
    now = time.time()
    return time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03}"


def _change(options: Options, views: list[Any], driver: Driver) -> list[str]:
    lines = []
    for name in options.changes:
        if os.geteuid() != 0:
            raise change.denied(name, views[0])
        lines += change.apply(name, options.values.get(name, ""), views, driver)
    return lines


def _tell(
    options: Options, views: list[Any], node: Any, driver: Driver, attached: int
) -> Iterable[str]:
    now = time.asctime()
    if options.words:
        return _about_links(options.words, views, node)
    if "list" in options.flags:
        return _list(views)
    if "query_gpu" in options.values or "query_apps" in options.values:
        return _rows(options, views, driver)
    if "query" in options.flags or "xml" in options.flags:
        asked = {name.upper() for name in options.listed("display")}
        unknown = sorted(asked - tree.sections())
        if unknown:
            raise StopError(INVALID, f"Invalid display type: {', '.join(unknown)}")
        report = xml.report if "xml" in options.flags else text.report
        return report(views, driver, asked, attached, now)
    return table.report(views, driver, now)


def _rows(options: Options, views: list[Any], driver: Driver) -> Iterable[str]:
    form = options.listed("format")
    if "csv" not in form:
        raise StopError(INVALID, "\"--format=\" switch is missing. Please run 'nvidia-smi -h'.")
    if "query_gpu" in options.values:
        return query.gpu_rows(views, driver, options.listed("query_gpu"), form)
    return query.app_rows(views, options.listed("query_apps"), form, _stamp())


def _list(views: list[Any]) -> Iterable[str]:
    for view in views:
        yield f"GPU {view['index']}: {view['name']} (UUID: {view['uuid']})"
        for one in view["mig"]["devices"] if view["now"]["mig"] else ():
            yield (f"  MIG {one['profile']:<12}Device {one['index']:>2}: (UUID: {one['uuid']})")


def _about_links(words: list[str], views: list[Any], node: Any) -> Iterable[str]:
    if words in (["topo", "-m"], ["topo", "--matrix"]):
        return topo.matrix(views, node)
    if len(words) == 3 and words[1] in ("-p2p", "--p2pstatus") and words[2] in topo.P2P_KINDS:
        return topo.peers(views)
    letters = {"-s": "s", "--status": "s", "-e": "e", "--errorcounters": "e", "-c": "c",
               "--capabilities": "c"}  # fmt: skip
    if words[0] == "nvlink" and len(words) == 2 and words[1] in letters:
        return nvlink.report(views, letters[words[1]])
    raise StopError(INVALID, f"Unknown or missing argument of {words[0]}.")
