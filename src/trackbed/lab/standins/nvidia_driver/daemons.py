"""nv-fabricmanager, nvlsm, nvidia-persistenced, nvidia-imex and nv-hostengine.

Texts: published journals of machines, e.g. https://github.com/NVIDIA/gpu-operator/issues/544 and
https://github.com/siderolabs/extensions/pull/717; what no journal shows is the lab's own words.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ..common import driver as drivers
from ..common import settings
from ..common.console import say
from ..common.places import machine, place
from ..kmod.main import main as kmod
from . import daemon
from .daemon import Duty, FailedError

HOSTENGINE_PID = "/run/nvhostengine.pid"
NVLSM_PID = "/run/nvidia-fabricmanager/nvlsm.pid"
IMEX_CONFIG, IMEX_PORT = "/etc/nvidia-imex/config.cfg", 50000
_FM_PID = "/run/nvidia-fabricmanager/nv-fabricmanager.pid"
_FM_CONFIG = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"
_FM_MISMATCH = (
    "fabric manager NVIDIA GPU driver interface version {own} don't match with driver version "
    "{loaded}. Please update with matching NVIDIA driver package."
)
_FM_NOTHING = (
    "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING "
    "Nothing to do [NV_WARN_NOTHING_TO_DO]"
)
_FM_UP = (
    "Connected to 1 node.",
    "Successfully configured all the available NVSwitches to route GPU NVLink traffic. NVLink "
    "Peer-to-Peer support will be enabled once the GPUs are successfully registered with the "
    "NVLink fabric.",
)
_PERSISTENCED_PID = "/run/nvidia-persistenced/nvidia-persistenced.pid"
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
_HOSTENGINE_PORT = 5555


def _reporting(main: Callable[[str, list[str]], int]) -> Callable[..., int]:
    """Let a daemon's failure be its exit code 1, and its reason be written to the journal."""

    def run(version: str, argv: list[str] | None = None) -> int:
        try:
            return main(version, sys.argv[1:] if argv is None else argv)
        except FailedError as error:
            sys.stderr.write(f"{error}\n")
            return 1

    return run


def _devices() -> list[str]:
    return ["nvidiactl", *[f"nvidia{gpu['minor']}" for gpu in machine()["gpus"]]]


@_reporting
def fabricmanager(version: str, words: list[str]) -> int:
    """Run nv-fabricmanager of this version: it brings the GPUs into their NVLink fabric."""
    given = daemon.options(words, {"-v", "--version", "-r", "--restart"}, {"-c", "--config"})
    if {"-v", "--version"} & set(given):
        say(f"Fabric Manager version is : {version}")
        return 0
    config = daemon.configuration(given.get("-c") or given.get("--config") or _FM_CONFIG)
    log_file = config.get("LOG_FILE_NAME") or "/var/log/fabricmanager.log"
    daemon.log(log_file, [f"Fabric Manager version {version} is running"])
    duty = Duty(_FM_PID, _devices())
    try:
        _check_fabric(version)
    except FailedError as error:
        daemon.log(log_file, [str(error)], "ERROR")
        if config.get("FM_STAY_RESIDENT_ON_FAILURES") != "1":
            raise
        sys.stderr.write(f"{error}\n")
    else:
        with settings.changing() as (running, _):
            running["fabric"] = {"state": "Completed", "status": "Success"}
        daemon.log(log_file, list(_FM_UP))
        for text in _FM_UP:
            sys.stderr.write(f"{text}\n")
    return daemon.start(duty, foreground=config.get("DAEMONIZE") == "0")


def _check_fabric(version: str) -> None:
    """Raise FailedError where there is no driver, another one, or no switch to manage."""
    loaded = drivers.find().loaded
    if loaded is None:
        raise FailedError("the NVIDIA driver is not loaded, so there are no NVSwitches to manage")
    if loaded != version:
        raise FailedError(_FM_MISMATCH.format(own=version, loaded=loaded))
    node = machine()
    if node["nvswitches"]:
        return
    if not _bridges(node) or daemon.running(NVLSM_PID) is None or not _has_module("ib_umad"):
        raise FailedError(_FM_NOTHING)


def _bridges(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the adapters through which NVLink 5 switches are managed."""
    return [nic for nic in node["nics"] if str(nic.get("device")).startswith("swmng:")]


def _has_module(name: str) -> bool:
    return place(f"/sys/module/{name}").is_dir()


@_reporting
def nvlsm(version: str, words: list[str]) -> int:
    """Run NVLink's subnet manager, an OpenSM."""
    given = daemon.options(
        words, {"-B", "--daemon", "--version"}, {"-F", "--config", "--pid_file", "-f", "-g"}
    )
    if "--version" in given:
        say(f"OpenSM {version}")
        return 0
    path = given.get("-F") or given.get("--config")
    config = daemon.configuration(path, " ") if path else {}
    log_file = given.get("-f") or config.get("log_file") or "/var/log/nvlsm.log"
    daemon.log(log_file, [f"OpenSM {version}"])
    if not _has_module("ib_umad"):
        # The text is that of libibumad: https://github.com/linux-rdma/rdma-core, umad.c.
        raise FailedError(
            f"ibwarn: [{os.getpid()}] umad_init: can't read ABI version from "
            "/sys/class/infiniband_mad/abi_version (No such file or directory): is ib_umad module "
            "loaded?"
        )
    bridges = _bridges(machine())
    if not bridges:
        raise FailedError("no port of an NVLink management bridge was found")
    daemon.log(log_file, [f"{nic['name']} ({nic['guid']}) manages the subnet" for nic in bridges])
    duty = Duty(given.get("--pid_file", NVLSM_PID))
    return daemon.start(duty, foreground=not {"-B", "--daemon"} & set(given))


@_reporting
def persistenced(version: str, words: list[str]) -> int:
    """Run nvidia-persistenced: it keeps GPUs initialised, and so their modules in use."""
    given = daemon.options(
        words,
        {"-v", "--version", "-V", "--verbose", "--persistence-mode", "--no-persistence-mode"},
        {"-u", "--user", "-g", "--group", "--nvidia-cfg-path"},
    )
    if {"-v", "--version"} & set(given):
        say(f"nvidia-persistenced:  version {version}")
        return 0
    if drivers.find().loaded is None:
        kmod(["modprobe", "nvidia"])  # as libnvidia-cfg does through nvidia-modprobe
    if drivers.find().loaded != version:
        raise FailedError(
            "nvidia-persistenced failed to initialize. Check syslog for more details."
        )
    wanted = "--no-persistence-mode" not in given
    gpus = {gpu["uuid"]: f"nvidia{gpu['minor']}" for gpu in machine()["gpus"] if not gpu["lost"]}
    _set_persistence(list(gpus), on=wanted)
    keeper = _Keeper(gpus)
    keeper.look()
    return daemon.start(
        Duty(
            _PERSISTENCED_PID, tick=keeper.look, end=lambda: _set_persistence(list(gpus), on=False)
        )
    )


def _set_persistence(uuids: list[str], *, on: bool) -> None:
    with settings.changing() as (running, _):
        for uuid in uuids:
            settings.of_gpu(running, uuid)["persistence"] = on


class _Keeper:
    """Holds the devices of those GPUs whose persistence mode is on, whoever switches it."""

    def __init__(self, gpus: dict[str, str]) -> None:
        self._gpus = gpus
        self._held: dict[str, int] = {}
        self._seen = 0

    def look(self) -> None:
        """Open and close devices, where something has been set since."""
        try:
            changed = place("/lab/run/gpus.json").stat().st_mtime_ns
        except OSError:
            return
        if changed == self._seen:
            return
        self._seen = changed
        own = settings.volatile().get("gpus", {})
        for uuid, name in self._gpus.items():
            wanted = bool(own.get(uuid, {}).get("persistence"))
            path = place(f"/dev/{name}")
            if wanted and uuid not in self._held and path.exists():
                self._held[uuid] = os.open(path, os.O_RDONLY)
            elif not wanted and uuid in self._held:
                os.close(self._held.pop(uuid))


@_reporting
def imex(version: str, words: list[str]) -> int:
    """Run nvidia-imex: it joins the nodes of an NVLink domain, and listens to them."""
    given = daemon.options(words, {"-v", "--version"}, {"-c", "--config"})
    if {"-v", "--version"} & set(given):
        say(f"IMEX version is: {version}")
        return 0
    config = daemon.configuration(given.get("-c") or given.get("--config") or IMEX_CONFIG)
    log_file = config.get("LOG_FILE_NAME") or "/var/log/nvidia-imex.log"
    try:
        nodes = _imex_nodes(version, config)
    except FailedError as error:
        daemon.log(log_file, [str(error)], "ERROR")
        raise
    daemon.log(log_file, [f"IMEX version {version} is running with {len(nodes)} nodes"])
    port = int(config.get("IMEX_SERVER_PORT") or IMEX_PORT)
    duty = Duty("/run/nvidia-imex/nvidia-imex.pid", ["nvidiactl"], ("0.0.0.0", port))  # noqa: S104
    return daemon.start(duty, foreground=config.get("DAEMONIZE") == "0")


def imex_nodes(config: dict[str, str]) -> list[str]:
    """Return the addresses of the domain's nodes, as nodes_config.cfg lists them."""
    path = config.get("IMEX_NODE_CONFIG_FILE") or "/etc/nvidia-imex/nodes_config.cfg"
    return list(daemon.configuration(path, " "))


def _imex_nodes(version: str, config: dict[str, str]) -> list[str]:
    """Return the nodes. Raises FailedError where there is nothing to join."""
    loaded = drivers.find().loaded
    if loaded != version:
        raise FailedError(f"IMEX {version} needs that driver to be loaded, not {loaded or 'none'}")
    fabrics = {gpu["fabric"]["cluster_uuid"] for gpu in machine()["gpus"]}
    if not fabrics - {_NO_CLUSTER, None}:
        raise FailedError("no GPU of this node belongs to an NVLink domain of several nodes")
    nodes = imex_nodes(config)
    if not nodes:
        raise FailedError("the node configuration file lists no nodes")
    return nodes


@_reporting
def hostengine(version: str, words: list[str]) -> int:
    """Run nv-hostengine, whom dcgmi asks."""
    given = daemon.options(
        words,
        {"-n", "--no-daemon", "-t", "--term", "-v", "--version"},
        {"-p", "--port", "-b", "--bind-interface", "--service-account", "--pid", "-f",
         "--log-filename", "--log-level"},
    )  # fmt: skip
    if {"-v", "--version"} & set(given):
        say(f"nv-hostengine  version: {version}")
        return 0
    known = daemon.running(HOSTENGINE_PID)
    if {"-t", "--term"} & set(given):
        return _terminate(known)
    if known is not None:
        raise FailedError("Host engine already running with pid " + str(known))
    port = int(given.get("-p") or given.get("--port") or _HOSTENGINE_PORT)
    duty = Duty(HOSTENGINE_PID, _devices() if drivers.find().loaded else [], ("127.0.0.1", port))
    foreground = bool({"-n", "--no-daemon"} & set(given))
    if not foreground:
        say(f"Started host engine version {version} using port number: {port}")
    return daemon.start(duty, foreground=foreground)


def _terminate(known: int | None) -> int:
    if known is None:
        raise FailedError("Unable to terminate host engine, it is not running.")
    os.kill(known, 15)
    for _ in range(50):
        if daemon.running(HOSTENGINE_PID) is None:
            break
        time.sleep(0.1)
    say("Host engine successfully terminated.")
    return 0
