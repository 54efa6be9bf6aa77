"""The engine's command lines and what its JSON says."""

from __future__ import annotations

import ipaddress
import json

import pytest
from lab_fakes import ORDINARY, RESTRICTED, FakeEngine

from trackbed.lab.command import CommandError
from trackbed.lab.engine import (
    DOCKER,
    PODMAN,
    Container,
    Engine,
    lab_of,
    parse_inspect,
    parse_owner,
    parse_subnets,
    run_argv,
)

NODE = Container(
    lab="lab",
    node="gpu-001",
    name="trackbed-lab-gpu-001",
    image="localhost/node:1",
    network="trackbed-lab",
    address="10.213.1.11",
    hardware="/s/hw",
    boot="/s/boot",
    recipe="abc",
)


def options(argv: list[str]) -> str:
    return " ".join(argv)


@pytest.mark.parametrize("kind", [PODMAN, DOCKER])
@pytest.mark.parametrize("limits", [ORDINARY, RESTRICTED])
def test_no_node_is_privileged_or_may_touch_the_hosts_devices(kind, limits):
    argv = run_argv(kind, NODE, limits)
    assert "--privileged" not in argv
    assert "--cap-drop=MKNOD" in argv
    given = {word for word in argv if word.startswith("--cap-add=")}
    for dangerous in ("SYS_MODULE", "SYS_RAWIO", "SYS_TIME", "SYSLOG", "SYS_BOOT", "ALL", "MKNOD"):
        assert f"--cap-add={dangerous}" not in given
    assert [argv[i + 1] for i, word in enumerate(argv) if word == "--device"] == ["/dev/fuse"]
    assert "/s/boot:/lab/boot:ro" in argv
    assert argv[-1] == NODE.image


def test_podman_knows_systemd_by_itself_and_docker_must_be_told():
    assert "--systemd=always" in run_argv(PODMAN, NODE, ORDINARY)
    argv = run_argv(DOCKER, NODE, ORDINARY)
    assert "--systemd=always" not in argv
    assert "--cgroupns=private" in argv
    assert "--env container=docker" in options(argv)
    assert "--tmpfs /run --tmpfs /run/lock --tmpfs /tmp" in options(argv)


def test_limits_are_named_only_where_they_cannot_be_raised():
    ordinary = options(run_argv(PODMAN, NODE, ORDINARY))
    assert "--ulimit" not in ordinary
    assert "--pids-limit" not in ordinary
    assert "--cap-add=SYS_RESOURCE" in ordinary
    restricted = options(run_argv(PODMAN, NODE, RESTRICTED))
    assert "--ulimit=nofile=1024:20000" in restricted
    assert "--ulimit=nproc=32768:32768" in restricted
    assert "--pids-limit=0" in restricted
    assert "SYS_RESOURCE" not in restricted


def test_the_restart_policy_lets_a_node_reboot_itself():
    assert "--restart always" in options(run_argv(PODMAN, NODE, ORDINARY))


def test_every_call_gets_the_prefix_and_the_runtime():
    fake = FakeEngine()
    engine = Engine(PODMAN, RESTRICTED, prefix=("env",), runtime="/r", runner=fake)
    assert engine.argv(["ps"]) == ["env", "podman", "--runtime", "/r", "ps"]


PODMAN_SAYS = [
    {
        "Name": "trackbed-lab-gpu-001",
        "State": {"Running": True},
        "Config": {"Labels": {"trackbed.node": "gpu-001", "trackbed.recipe": "r1"}},
        "NetworkSettings": {"Networks": {"trackbed-lab": {"IPAddress": "10.213.1.11"}}},
    }
]


def test_inspect_of_both_engines_gives_the_same():
    docker = [{**PODMAN_SAYS[0], "Name": "/trackbed-lab-gpu-001"}]
    one = parse_inspect(json.dumps(PODMAN_SAYS), "trackbed-lab")
    assert one == parse_inspect(json.dumps(docker), "trackbed-lab")
    assert (one[0].name, one[0].node, one[0].recipe) == ("trackbed-lab-gpu-001", "gpu-001", "r1")
    assert one[0].running
    assert one[0].address == "10.213.1.11"


def test_inspect_of_a_half_made_container_is_read_too():
    bare = parse_inspect('[{"Name": "x", "State": null, "Config": {"Labels": null}}]', "n")
    assert not bare[0].running
    assert bare[0].address == ""
    assert parse_inspect("", "n") == []


def test_subnets_of_both_engines():
    podman = '[{"name": "a", "subnets": [{"subnet": "10.89.0.0/24"}, {"subnet": "fd00::/64"}]}]'
    docker = '[{"Name": "a", "IPAM": {"Config": [{"Subnet": "172.17.0.0/16"}]}}, {"IPAM": null}]'
    assert parse_subnets(podman) == [ipaddress.IPv4Network("10.89.0.0/24")]
    assert parse_subnets(docker) == [ipaddress.IPv4Network("172.17.0.0/16")]
    assert parse_subnets("[]") == []


def test_the_owner_of_a_network():
    assert parse_owner('[{"labels": {"trackbed.directory": "/a"}}]') == "/a"
    assert parse_owner('[{"Labels": {"trackbed.directory": "/b"}}]') == "/b"
    assert parse_owner('[{"labels": null}]') == ""
    assert parse_owner("[]") == ""


@pytest.mark.parametrize(
    ("name", "lab"),
    [("trackbed-lab-gpu-001", "lab"), ("trackbed-mol-a_b", "mol-a_b"), ("trackbed-x-gpu", "x-gpu")],
)
def test_names_lead_back_to_their_lab(name, lab):
    assert lab_of(name) == lab


def test_a_failing_call_names_what_was_done_and_the_engines_words():
    fake = FakeEngine()
    fake.fail_at = "run"
    with pytest.raises(CommandError) as caught:
        Engine(PODMAN, ORDINARY, runner=fake).start(NODE)
    assert "starting gpu-001" in caught.value.found
    assert "ended with 125: Error: planted" in caught.value.found
    assert "podman run" in caught.value.remedy


def test_labs_and_their_containers_are_found_by_label():
    fake = FakeEngine()
    engine = Engine(PODMAN, ORDINARY, runner=fake)
    assert engine.labs() == []
    assert engine.containers("lab", "trackbed-lab") == []
    engine.create_network("lab", "/d", "trackbed-lab", "10.213.1.0/24")
    engine.start(NODE)
    assert engine.labs() == ["lab"]
    assert engine.network_owner("trackbed-lab") == "/d"
    assert engine.network_subnet("trackbed-lab") == "10.213.1.0/24"
    assert [one.node for one in engine.containers("lab", "trackbed-lab")] == ["gpu-001"]
    assert engine.running_any()
    engine.remove(["trackbed-lab-gpu-001"])
    engine.remove_network("trackbed-lab")
    engine.remove_network("trackbed-lab")
    assert engine.labs() == []
    assert engine.networks() == []
