"""The daemons beside the driver: what they need, what they bring about, what they hold."""

from __future__ import annotations

import importlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon_node import VERSION, DaemonNode, gone

FM = "nvidia_driver.daemons:fabricmanager"
FM_CONFIG = "usr/share/nvidia/nvswitch/fabricmanager.cfg"
NVLSM = "nvidia_driver.daemons:nvlsm"
PERSISTENCED = "nvidia_driver.daemons:persistenced"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DaemonNode]:
    made = DaemonNode(tmp_path, monkeypatch)
    made.payload(f"fabricmanager/{FM_CONFIG}", FM_CONFIG)
    yield made
    made.stop()


def holders(node: DaemonNode, device: str) -> set[int]:
    places = importlib.import_module("standins.common.places")
    return set(places.holders(f"/dev/{device}"))


def test_fabric_manager_completes_the_fabric_and_holds_the_driver(node: DaemonNode) -> None:
    node.up("h100-sxm")
    ran = node.call(FM, "-c", f"/{FM_CONFIG}")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr.startswith("Connected to 1 node.\n")
    assert node.settings_now()["fabric"] == {"state": "Completed", "status": "Success"}
    pid = node.pid("run/nvidia-fabricmanager/nv-fabricmanager.pid")
    assert holders(node, "nvidiactl") == {pid}
    log = (node.top / "var/log/fabricmanager.log").read_text(encoding="utf-8")
    assert f"Fabric Manager version {VERSION}" in log
    node.stop()
    assert not holders(node, "nvidiactl")


def test_the_fabric_ends_with_the_driver(node: DaemonNode) -> None:
    node.up("h100-sxm")
    node.settings({"fabric": {"state": "Completed"}, "gpus": {"GPU-1": {"persistence": True}}})
    importlib.import_module("standins.kmod.nvidia").unloaded("nvidia")
    assert node.settings_now() == {"gpus": {"GPU-1": {"persistence": True}}}


def test_fabric_manager_refuses_another_driver(node: DaemonNode) -> None:
    node.up("h100-sxm", loaded="580.105.08")
    ran = node.call(FM, "-c", f"/{FM_CONFIG}")
    assert ran.returncode == 1
    assert ran.stderr == (
        f"fabric manager NVIDIA GPU driver interface version {VERSION} don't match with driver "
        "version 580.105.08. Please update with matching NVIDIA driver package.\n"
    )
    assert "fabric" not in node.settings_now()
    assert ran.stderr in (node.top / "var/log/fabricmanager.log").read_text(encoding="utf-8")


def test_fabric_manager_can_stay_although_it_failed(node: DaemonNode) -> None:
    node.up("h100-sxm", loaded="580.105.08")
    text = (node.top / FM_CONFIG).read_text(encoding="utf-8")
    node.write(FM_CONFIG, text.replace("ON_FAILURES=0", "ON_FAILURES=1"))
    ran = node.call(FM, "-c", f"/{FM_CONFIG}")
    assert ran.returncode == 0
    assert "don't match" in ran.stderr
    assert "fabric" not in node.settings_now()
    assert node.pid("run/nvidia-fabricmanager/nv-fabricmanager.pid")


def test_nvlink_5_needs_the_subnet_manager_and_that_one_needs_ib_umad(node: DaemonNode) -> None:
    node.up("b200")
    conf = "usr/share/nvidia/nvlsm/nvlsm.conf"
    node.payload(f"nvlsm/{conf}", conf)
    pid_file = "/run/nvidia-fabricmanager/nvlsm.pid"
    words = ("-F", f"/{conf}", "-B", "--pid_file", pid_file)
    ran = node.call(NVLSM, *words, version="2025.06.5")
    assert ran.returncode == 1
    assert "is ib_umad module loaded?" in ran.stderr
    ran = node.call(FM, "-c", f"/{FM_CONFIG}")
    assert ran.returncode == 1
    assert "[NV_WARN_NOTHING_TO_DO]" in ran.stderr

    (node.top / "sys/module/ib_umad").mkdir(parents=True)
    assert node.call(NVLSM, *words, version="2025.06.5").returncode == 0
    log = (node.top / "var/log/nvlsm.log").read_text(encoding="utf-8")
    assert "OpenSM 2025.06.5" in log
    assert node.call(FM, "-c", f"/{FM_CONFIG}").returncode == 0
    assert node.settings_now()["fabric"]["state"] == "Completed"


def test_persistenced_sets_the_mode_and_lets_go_where_it_is_taken_away(node: DaemonNode) -> None:
    document = node.up("h100-sxm")
    ran = node.call(PERSISTENCED, "--verbose")
    assert (ran.returncode, ran.stderr) == (0, "")
    uuids = [gpu["uuid"] for gpu in document["gpus"]]
    gpus = node.settings_now()["gpus"]
    assert all(gpus[uuid]["persistence"] for uuid in uuids)
    pid = node.pid("run/nvidia-persistenced/nvidia-persistenced.pid")
    assert holders(node, "nvidia0") == holders(node, "nvidia7") == {pid}
    gpus[uuids[0]]["persistence"] = False
    node.settings({"gpus": gpus})
    assert any(not holders(node, "nvidia0") for _ in range(200))
    assert holders(node, "nvidia7") == {pid}
    node.stop()
    assert not any(own["persistence"] for own in node.settings_now()["gpus"].values())


def test_persistenced_needs_its_own_driver(node: DaemonNode) -> None:
    node.up("h100-sxm", loaded="580.105.08")
    ran = node.call(PERSISTENCED)
    assert ran.returncode == 1
    assert ran.stderr.startswith("nvidia-persistenced failed to initialize.")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def imex_node(node: DaemonNode, nodes: str, port: int) -> None:
    document = node.up("b200")
    for gpu in document["gpus"]:
        gpu["fabric"]["cluster_uuid"] = "11111111-0000-4000-8000-000000000001"
    node.machine(document)
    node.write("etc/nvidia-imex/config.cfg", f"IMEX_SERVER_PORT={port}\n")
    node.write("etc/nvidia-imex/nodes_config.cfg", nodes)


def test_imex_joins_the_domain_that_its_file_lists(node: DaemonNode) -> None:
    imex_node(node, "127.0.0.1\n", free_port())
    ctl, daemon = "nvidia_driver.tools:imex_ctl", "nvidia_driver.daemons:imex"
    assert node.call(ctl, "-q").stdout == "UNAVAILABLE\n"
    assert json.loads(node.call(ctl, "-N", "-j").stdout)["status"] == "DOWN"
    assert node.call(daemon, "-c", "/etc/nvidia-imex/config.cfg").returncode == 0
    assert node.call(ctl, "-q").stdout == "READY\n"
    told = json.loads(node.call(ctl, "-N", "-j").stdout)
    assert told["status"] == "UP"
    assert told["nodes"]["0"]["host"] == "127.0.0.1"
    assert "Domain State: UP" in node.call(ctl, "-N").stdout
    node.stop()
    assert gone(node.top / "run/nvidia-imex/nvidia-imex.pid")


def test_imex_has_nothing_to_join(node: DaemonNode) -> None:
    imex_node(node, "# none yet\n", free_port())
    ran = node.call("nvidia_driver.daemons:imex")
    assert ran.returncode == 1
    assert "lists no nodes" in ran.stderr
    document = json.loads((node.top / "lab/hw/machine.json").read_text(encoding="utf-8"))
    for gpu in document["gpus"]:
        gpu["fabric"]["cluster_uuid"] = "00000000-0000-0000-0000-000000000000"
    node.machine(document)
    assert "NVLink domain" in node.call("nvidia_driver.daemons:imex").stderr


def test_the_host_engine_listens_and_can_be_ended(node: DaemonNode) -> None:
    node.up("h100-sxm")
    port, engine = free_port(), "nvidia_driver.daemons:hostengine"
    ran = node.call(engine, "-p", str(port), version="4.6.0")
    assert ran.stdout == f"Started host engine version 4.6.0 using port number: {port}\n"
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    assert "already running" in node.call(engine, version="4.6.0").stderr
    assert node.call(engine, "-t", version="4.6.0").returncode == 0
    assert node.call(engine, "-t", version="4.6.0").returncode == 1


@pytest.mark.parametrize(
    ("function", "words", "text"),
    [
        (FM, ["-v"], f"Fabric Manager version is : {VERSION}\n"),
        (PERSISTENCED, ["--version"], f"nvidia-persistenced:  version {VERSION}\n"),
        ("nvidia_driver.tools:modprobe_main", ["-v"], f"nvidia-modprobe:  version {VERSION}\n"),
        ("nvidia_driver.tools:nvcc", ["-V"], f"release 580.126, V{VERSION}\n"),
        ("nvidia_driver.tools:container_runtime", ["-v"], f"Runtime version {VERSION}\n"),
    ],
)
def test_versions(node: DaemonNode, function: str, words: list[str], text: str) -> None:
    ran = node.call(function, *words)
    assert ran.returncode == 0
    assert ran.stdout.endswith(text)


@pytest.mark.parametrize(
    "function", [FM, PERSISTENCED, NVLSM, *(f"nvidia_driver.tools:{name}" for name in (
        "modprobe_main", "imex_ctl", "nvidia_ctk", "container_runtime", "nvcc"))],
)  # fmt: skip
def test_what_is_not_known_is_refused(node: DaemonNode, function: str) -> None:
    ran = node.call(function, "--frobnicate")
    assert ran.returncode == 1
    assert "stand-in" in ran.stderr


def test_cdi_lists_what_is_there(node: DaemonNode) -> None:
    document = node.up("h100-sxm")
    ctk = "nvidia_driver.tools:nvidia_ctk"
    assert node.call(ctk, "cdi", "generate", "--output=/var/run/cdi/nvidia.yaml").returncode == 0
    spec = json.loads((node.top / "var/run/cdi/nvidia.yaml").read_text(encoding="utf-8"))
    named = {one["name"] for one in spec["devices"]}
    assert {"0", "7", "all", document["gpus"][3]["uuid"]} <= named
    assert node.call(ctk, "cdi", "list").stdout.startswith("Found 17 CDI devices\n")
    node.driver(VERSION, None)
    assert node.call(ctk, "cdi", "generate").returncode == 1
