"""nvidia-modprobe, nvidia-imex-ctl, nvidia-ctk, nvidia-container-runtime and nvcc.

They do what a node's administration asks of them, and refuse the rest: the lab starts no
containers and compiles no CUDA.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from typing import Any

from ..common import driver as drivers
from ..common.console import say
from ..common.places import machine, place
from ..kmod.main import main as kmod
from . import daemon, daemons

# nvcc's own number of each toolkit: release notes of CUDA, component versions.
_NVCC = {"12.8.1": "12.8.93", "12.9.1": "12.9.86", "13.0.2": "13.0.88"}
_MODULES = {"-u": "nvidia-uvm", "-m": "nvidia-modeset"}


def _words(argv: list[str] | None) -> list[str]:
    return sys.argv[1:] if argv is None else argv


def _refused(program: str, words: list[str]) -> int:
    sys.stderr.write(
        f"{program}: the lab's stand-in does not know: {' '.join(words) or '(none)'}\n"
    )
    return 1


def modprobe_main(version: str, argv: list[str] | None = None) -> int:
    """Run nvidia-modprobe: load modules, which make their device files."""
    words = _words(argv)
    if words in (["-v"], ["--version"]):
        say(f"nvidia-modprobe:  version {version}")
        return 0
    names = ["nvidia"]
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-c", "--create-nvidia-device-file") and rest:
            rest.pop(0)  # the module makes them
        elif word in _MODULES:
            names.append(_MODULES[word])
        else:
            return _refused("nvidia-modprobe", words)
    return max(int(kmod(["modprobe", name])) for name in names)


def imex_ctl(version: str, argv: list[str] | None = None) -> int:
    """Run nvidia-imex-ctl: -q tells of this node, -N of the domain (-j: as JSON)."""
    words = _words(argv)
    if words in (["-v"], ["--version"]):
        say(f"IMEX version is: {version}")
        return 0
    try:
        given = daemon.options(words, {"-q", "-N", "-j"}, {"-c"})
        config = daemon.configuration(given.get("-c", daemons.IMEX_CONFIG))
        nodes = daemons.imex_nodes(config)
    except daemon.FailedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    port = int(config.get("IMEX_SERVER_PORT") or daemons.IMEX_PORT)
    if "-q" in given:
        ready = _answers("127.0.0.1", port)
        say("READY" if ready else "UNAVAILABLE")
        return 0 if ready else 1
    if "-N" not in given:
        return _refused("nvidia-imex-ctl", words)
    return _domain(version, {node: _answers(node, port) for node in nodes}, as_json="-j" in given)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False


def _domain(version: str, nodes: dict[str, bool], *, as_json: bool) -> int:
    up = bool(nodes) and all(nodes.values())
    status = "UP" if up else "DEGRADED" if any(nodes.values()) else "DOWN"
    if as_json:
        listed = {
            str(number): {
                "host": host,
                "status": "READY" if ready else "UNAVAILABLE",
                "version": version if ready else "N/A",
            }
            for number, (host, ready) in enumerate(nodes.items())
        }
        stamp = time.strftime("%m/%d/%Y %H:%M:%S")
        say(json.dumps({"nodes": listed, "timestamp": stamp, "status": status}, indent=2))
        return 0
    for number, (host, ready) in enumerate(nodes.items()):
        say(f"Node #{number:<3} - {host:<15} - {'READY' if ready else 'UNAVAILABLE'}")
    say(f"Domain State: {status}")
    return 0


def nvidia_ctk(version: str, argv: list[str] | None = None) -> int:
    """Run nvidia-ctk: `cdi generate [--output=FILE]` and `cdi list`."""
    words = _words(argv)
    if words in (["-v"], ["--version"]):
        say(f"NVIDIA Container Toolkit CLI version {version}")
        return 0
    try:
        given = daemon.options(words[2:], set(), {"--output"})
    except daemon.FailedError:
        return _refused("nvidia-ctk", words)
    if words[:2] not in (["cdi", "generate"], ["cdi", "list"]):
        return _refused("nvidia-ctk", words)
    driver = drivers.find()
    if driver.installed is None or driver.loaded != driver.installed:
        sys.stderr.write("failed to generate CDI spec: NVML cannot be initialized\n")
        return 1
    if words[1] == "list":
        names = [f"nvidia.com/gpu={name}" for name in _cdi_names()]
        say(f"Found {len(names)} CDI devices")
        for name in names:
            say(name)
        return 0
    _generate(json.dumps(_cdi(), indent=2), given.get("--output"))
    return 0


def _generate(text: str, path: str | None) -> None:
    if path is None:
        say(text)  # JSON is YAML
        return
    target = place(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{text}\n", encoding="utf-8")


def _cdi_names() -> list[str]:
    gpus = [gpu for gpu in machine()["gpus"] if not gpu["lost"]]
    return [*[str(gpu["index"]) for gpu in gpus], *[gpu["uuid"] for gpu in gpus], "all"]


def _cdi() -> dict[str, Any]:
    """Return the specification of this node: Container Device Interface 0.5.0."""
    gpus = {str(gpu["index"]): gpu for gpu in machine()["gpus"] if not gpu["lost"]}
    nodes = {name: [f"/dev/nvidia{gpu['minor']}"] for name, gpu in gpus.items()}
    nodes.update({gpu["uuid"]: nodes[name] for name, gpu in gpus.items()})
    nodes["all"] = [path for name in gpus for path in nodes[name]]
    return {
        "cdiVersion": "0.5.0",
        "kind": "nvidia.com/gpu",
        "devices": [
            {"name": name, "containerEdits": {"deviceNodes": [{"path": path} for path in paths]}}
            for name, paths in nodes.items()
        ],
        "containerEdits": {"deviceNodes": [{"path": "/dev/nvidiactl"}]},
    }


def container_runtime(version: str, argv: list[str] | None = None) -> int:
    """Run nvidia-container-runtime, which tells its version: nodes start no containers."""
    words = _words(argv)
    if words in (["-v"], ["--version"]):
        say(f"NVIDIA Container Runtime version {version}")
        return 0
    return _refused("nvidia-container-runtime", words)


def nvcc(version: str, argv: list[str] | None = None) -> int:
    """Run nvcc, which tells its version and compiles nothing."""
    words = _words(argv)
    if words not in (["-V"], ["--version"]):
        sys.stderr.write("nvcc fatal   : the lab's stand-in compiles nothing\n")
        return 1
    release = ".".join(version.split(".")[:2])
    say("nvcc: NVIDIA (R) Cuda compiler driver")
    say(f"Cuda compilation tools, release {release}, V{_NVCC.get(version, version)}")
    return 0
