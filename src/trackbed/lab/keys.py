"""The lab's keys: one for the client, one for each node, made for this lab and gone with it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from trackbed.errors import UsageError
from trackbed.lab import files
from trackbed.lab.command import CommandError, Runner, run
from trackbed.lab.spec import LabPaths, NodePaths

USER = "ops"
HOST_KEY = "ssh_host_ed25519_key"
_SECONDS = 20.0


def ensure_pair(private: Path, comment: str, runner: Runner = run) -> None:
    """Make a key pair without a passphrase, unless it is there; never half of one."""
    public = private.with_name(f"{private.name}.pub")
    if private.exists() and public.exists():
        return
    if shutil.which("ssh-keygen") is None:
        raise UsageError(
            "ssh-keygen is not installed",
            wanted="the OpenSSH client, which Ansible needs too",
            remedy="install openssh-client (Debian) or openssh-clients (Fedora, RHEL)",
        )
    with tempfile.TemporaryDirectory(dir=private.parent, prefix=".keygen-") as place:
        fresh = Path(place) / private.name
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(fresh)]
        result = runner(argv, _SECONDS)
        if not result.ok:
            raise CommandError(result, doing="making a key")
        # The public half first: a private key that is there means that both are.
        fresh.with_name(public.name).replace(public)
        fresh.replace(private)


def ensure_client(paths: LabPaths, runner: Runner = run) -> None:
    """Make the client's key."""
    files.private_dir(paths.ssh)
    ensure_pair(paths.key, f"trackbed-lab-{paths.name}", runner)


def ensure_host(paths: LabPaths, node: NodePaths, runner: Runner = run) -> None:
    """Make a node's host key, and tell the node who may log in."""
    files.private_dir(node.boot)
    ensure_pair(node.boot / HOST_KEY, node.dir.name, runner)
    public = paths.key.with_name(f"{paths.key.name}.pub").read_text(encoding="ascii")
    files.write(node.boot / "authorized_keys", public)


def write_known_hosts(paths: LabPaths, addresses: Mapping[str, str]) -> bool:
    """Write the host keys of all nodes, by name and address; return whether that changed any."""
    lines = []
    for name, address in addresses.items():
        public = (paths.node(name).boot / f"{HOST_KEY}.pub").read_text(encoding="ascii").split()
        lines.append(f"{name},{address} {public[0]} {public[1]}\n")
    return files.write(paths.known_hosts, "".join(lines))


def ssh_options(paths: LabPaths) -> list[str]:
    """Return the options for the lab's nodes. Host keys are known and always checked."""
    return [
        "-F",
        "none",  # a user's own configuration is for the user's own hosts
        "-o",
        f"UserKnownHostsFile={paths.known_hosts}",
        "-o",
        "GlobalKnownHostsFile=none",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "IdentitiesOnly=yes",
    ]


def ssh_argv(paths: LabPaths, address: str, *, batch: bool = True) -> list[str]:
    """Return the ssh command for a node; `batch` never asks and never waits for long."""
    # Alive questions: a node that is switched off in mid-sentence says nothing more.
    quick = [
        *("-o", "BatchMode=yes", "-o", "ConnectTimeout=2"),
        *("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2"),
    ]
    quick = quick if batch else []
    return ["ssh", *ssh_options(paths), *quick, "-i", str(paths.key), f"{USER}@{address}"]
