"""The container engine: podman or docker, behind the few calls that a lab needs."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trackbed.lab.command import CommandError, Result, Runner, run
from trackbed.lab.limits import HostLimits

PODMAN = "podman"
DOCKER = "docker"
LABEL_LAB = "trackbed.lab"
LABEL_DIR = "trackbed.directory"
LABEL_NODE = "trackbed.node"
LABEL_RECIPE = "trackbed.recipe"
# What a server's programs need and the engines' defaults lack; everything else is dropped.
# SYS_ADMIN mounts the node's private /sys, NET_ADMIN sets its own interfaces, SYS_CHROOT and
# AUDIT_WRITE are for sshd and PAM, NET_RAW for ping.
CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "NET_RAW", "SYS_CHROOT", "AUDIT_WRITE")
# With MKNOD a node could make itself any device of the host.
DROPPED = ("MKNOD",)
_SHORT = 60.0
_LONG = 180.0


@dataclass(frozen=True)
class Container:
    """What one node's container must be."""

    lab: str
    node: str
    name: str
    image: str
    network: str
    address: str
    recipe: str
    """Changes with everything else here that a running container cannot take over."""
    hardware: str = ""
    boot: str = ""
    """Both are empty for the head, which is an ordinary container: it simulates no machine."""


@dataclass(frozen=True)
class Running:
    """What the engine says of a container."""

    name: str
    node: str
    recipe: str
    running: bool
    address: str


def run_argv(kind: str, want: Container, limits: HostLimits) -> list[str]:
    """Return the arguments (after the program) that start one node, without `--privileged`."""
    argv = ["run", "--detach", "--name", want.name, "--hostname", want.node]
    for key, value in (
        (LABEL_LAB, want.lab),
        (LABEL_NODE, want.node),
        (LABEL_RECIPE, want.recipe),
    ):
        argv += ["--label", f"{key}={value}"]
    argv += ["--network", want.network, "--ip", want.address, "--network-alias", want.node]
    argv += ["--restart", "always"]
    if not want.hardware:
        return [*argv, *_common(kind, limits), want.image]
    argv += [f"--cap-add={name}" for name in CAPABILITIES]
    argv += ["--cap-add=SYS_RESOURCE"] if limits.may_raise else []
    argv += [f"--cap-drop={name}" for name in DROPPED]
    # Both would refuse the mounts of the node's init; neither exists on every host.
    argv += ["--security-opt", "apparmor=unconfined", "--security-opt", "label=disable"]
    argv += ["--device", "/dev/fuse"]
    argv += ["--mount", "type=tmpfs,destination=/lab,tmpfs-size=67108864"]
    argv += ["--volume", f"{want.hardware}:/lab/hw", "--volume", f"{want.boot}:/lab/boot:ro"]
    argv += ["--systemd=always"] if kind == PODMAN else _docker_only()
    return [*argv, *_common(kind, limits), want.image]


def _common(kind: str, limits: HostLimits) -> list[str]:
    """Return what every container needs here."""
    return _podman_only(limits) if kind == PODMAN else ["--pull=never"]


def _podman_only(limits: HostLimits) -> list[str]:
    argv = ["--pull=never"]
    if not limits.may_raise:
        # Podman's own defaults may lie above the hard limits. It was also seen to raise a number of
        # processes above 2**16 (podman 4.3), and then to be refused.
        if limits.nofile > 0:
            argv.append(f"--ulimit=nofile={min(1024, limits.nofile)}:{limits.nofile}")
        if limits.nproc > 0:
            processes = min(limits.nproc, 32768)
            argv.append(f"--ulimit=nproc={processes}:{processes}")
    return argv if limits.pids_controller else [*argv, "--pids-limit=0"]


def _docker_only() -> list[str]:
    # What podman's --systemd=always does. `container` tells systemd where it is; Docker's seccomp
    # filter follows the capabilities, and the node's init mounts its cgroups writable itself.
    argv = ["--cgroupns=private", "--env", "container=docker"]
    argv += ["--stop-signal", "SIGRTMIN+3"]
    for place in ("/run", "/run/lock", "/tmp"):  # noqa: S108  (inside the container)
        argv += ["--tmpfs", place]
    return argv


def parse_inspect(text: str, network: str) -> list[Running]:
    """Return the containers of `podman inspect` or `docker inspect`, in order of name."""
    found = []
    for item in json.loads(text or "[]"):
        labels: dict[str, str] = (item.get("Config") or {}).get("Labels") or {}
        networks: dict[str, Any] = (item.get("NetworkSettings") or {}).get("Networks") or {}
        found.append(
            Running(
                name=str(item.get("Name", "")).lstrip("/"),
                node=labels.get(LABEL_NODE, ""),
                recipe=labels.get(LABEL_RECIPE, ""),
                running=bool((item.get("State") or {}).get("Running")),
                address=str((networks.get(network) or {}).get("IPAddress") or ""),
            )
        )
    return sorted(found, key=lambda one: one.name)


def lab_of(name: str) -> str:
    """Return the lab that a network or a container of this name belongs to (see spec.py)."""
    return re.sub(r"-(gpu-\d+|head)$", "", name.removeprefix("trackbed-"))


def parse_subnets(text: str) -> list[ipaddress.IPv4Network]:
    """Return the IPv4 networks of `podman network inspect` or `docker network inspect`."""
    subnets = []
    for item in json.loads(text or "[]"):
        rows = item.get("subnets") or (item.get("IPAM") or {}).get("Config") or []
        for row in rows:
            given = row.get("subnet") or row.get("Subnet") or ""
            if given and ":" not in given:
                subnets.append(ipaddress.IPv4Network(given, strict=False))
    return subnets


def parse_owner(text: str) -> str:
    """Return the lab directory in the labels of `podman network inspect` or docker's."""
    for item in json.loads(text or "[]"):
        labels: dict[str, str] = item.get("labels") or item.get("Labels") or {}
        return labels.get(LABEL_DIR, "")
    return ""


class Engine:
    """One engine, called as this host demands. Methods raise CommandError."""

    def __init__(
        self,
        kind: str,
        limits: HostLimits,
        *,
        prefix: Sequence[str] = (),
        runtime: str = "",
        runner: Runner = run,
    ) -> None:
        """Put `prefix` before each call; `runtime` replaces the engine's OCI runtime, if given."""
        self.kind = kind
        self.limits = limits
        self.prefix = tuple(prefix)
        self.runtime = runtime
        self.runner = runner

    def argv(self, args: Sequence[str]) -> list[str]:
        """Return the whole command line of one call."""
        options = ["--runtime", self.runtime] if self.runtime else []
        return [*self.prefix, self.kind, *options, *args]

    def attempt(self, args: Sequence[str], timeout: float = _SHORT) -> Result:
        """Make a call that may fail."""
        return self.runner(self.argv(args), timeout)

    def call(self, doing: str, args: Sequence[str], timeout: float = _SHORT) -> str:
        """Make a call that must succeed and return what it printed."""
        result = self.attempt(args, timeout)
        if not result.ok:
            raise CommandError(result, doing=doing)
        return result.out

    def containers(self, lab: str, network: str) -> list[Running]:
        """Return the containers of one lab."""
        names = self._names("ps", "{{.Names}}", f"{LABEL_LAB}={lab}", "--all")
        if not names:
            return []
        text = self.call("asking for the nodes", ["inspect", "--type", "container", *names])
        return parse_inspect(text, network)

    def running_any(self) -> bool:
        """Return whether any container at all runs in this engine."""
        return bool(self.call("asking for containers", ["ps", "--quiet"]).split())

    def labs(self) -> list[str]:
        """Return the names of the labs that have a network or a container in this engine."""
        networks = self._names("network", "{{.Name}}", LABEL_LAB, "ls")
        nodes = self._names("ps", "{{.Names}}", LABEL_LAB, "--all")
        return sorted({lab_of(name) for name in (*networks, *nodes)})

    def _names(self, verb: str, shown: str, label: str, *rest: str) -> list[str]:
        argv = [verb, *rest, "--filter", f"label={label}", "--format", shown]
        return self.call(f"asking {self.kind} for what carries {label}", argv).split()

    def start(self, want: Container) -> None:
        """Create and start one node."""
        self.call(f"starting {want.node}", run_argv(self.kind, want, self.limits), _LONG)

    def remove(self, names: Iterable[str]) -> None:
        """Stop and remove containers; those that are not there are no error."""
        listed = list(names)
        if listed:
            # Nothing on a lab node is worth a clean shutdown.
            self.call("removing nodes", ["rm", "--force", *self._at_once(), *listed], _LONG)

    def restart(self, name: str) -> None:
        """Switch one node off and on."""
        self.call(f"restarting {name}", ["restart", "--time", "5", name], _LONG)

    def _at_once(self) -> list[str]:
        return ["--time", "1", "--volumes"] if self.kind == PODMAN else ["--volumes"]

    def network_names(self) -> list[str]:
        """Return the names of all networks that the engine knows."""
        argv = ["network", "ls", "--format", "{{.Name}}"]
        return self.call("listing networks", argv).split()

    def networks(self) -> list[ipaddress.IPv4Network]:
        """Return the subnets of all networks that the engine knows."""
        names = self.network_names()
        if not names:
            return []
        return parse_subnets(self.call("reading networks", ["network", "inspect", *names]))

    def network_subnet(self, network: str) -> str | None:
        """Return the subnet of one network, or None where there is no such network."""
        result = self.attempt(["network", "inspect", network])
        subnets = parse_subnets(result.out) if result.ok else []
        return str(subnets[0]) if subnets else None

    def network_owner(self, network: str) -> str:
        """Return the directory of the lab that a network belongs to; empty where not known."""
        result = self.attempt(["network", "inspect", network])
        return parse_owner(result.out) if result.ok else ""

    def create_network(self, lab: str, directory: str, network: str, subnet: str) -> None:
        """Make a lab's network."""
        labels = [f"--label={LABEL_LAB}={lab}", f"--label={LABEL_DIR}={directory}"]
        argv = ["network", "create", *labels, "--subnet", subnet, network]
        self.call(f"making the network {network}", argv)

    def remove_network(self, network: str) -> None:
        """Remove a lab's network, if it is there."""
        if self.network_subnet(network) is not None:
            self.call(f"removing the network {network}", ["network", "rm", network])

    def logs(self, name: str, lines: int = 15) -> str:
        """Return the last lines that a node's first programs and its journal wrote."""
        journal = ["exec", name, "journalctl", "--no-pager", "--quiet", "-p", "warning", "-n"]
        said = self.attempt(["logs", "--tail", str(lines), name])
        wrote = self.attempt([*journal, str(lines)])
        return "\n".join(part.strip() for part in (said.out + said.err, wrote.out) if part.strip())
