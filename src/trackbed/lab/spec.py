"""What a lab should be, and the names and places that follow from it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trackbed.errors import UsageError

DEFAULT_NAME = "lab"
DEFAULT_NODES = 4
DEFAULT_SKU = "h100-sxm"
# Debian's code names by the name that `--os` takes.
SYSTEMS = {"debian12": "bookworm", "debian13": "trixie"}
DEFAULT_SYSTEM = "debian12"
# The lab's /24 network gives addresses .11 to .250 to nodes; the first ten are for the head.
MAX_NODES = 240
HEAD = "head"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class LabSpec:
    """What was asked for: equal specs make equal labs."""

    name: str = DEFAULT_NAME
    nodes: int = DEFAULT_NODES
    sku: str = DEFAULT_SKU
    system: str = DEFAULT_SYSTEM
    head: bool = False

    def __post_init__(self) -> None:
        """Refuse what no lab can be."""
        check_name(self.name)
        if not 1 <= self.nodes <= MAX_NODES:
            raise UsageError(
                f"a lab of {self.nodes} nodes was asked for",
                wanted=f"1 to {MAX_NODES} nodes",
                remedy="give another number with --nodes",
            )
        if self.system not in SYSTEMS:
            raise UsageError(
                f"the operating system {self.system!r} is not known to the lab",
                wanted=" or ".join(SYSTEMS),
                remedy="give one of these with --os",
            )

    @property
    def words(self) -> str:
        """Return what it is, for a person."""
        head = " and a head" if self.head else ""
        return f"{self.nodes} nodes of {self.sku} on {self.system}{head}"

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the host names, in order."""
        return tuple(f"gpu-{number:03d}" for number in range(1, self.nodes + 1))

    @property
    def node_pattern(self) -> str:
        """Return the host names as the site file writes them."""
        return "gpu-001" if self.nodes == 1 else f"gpu-[001:{self.nodes:03d}]"

    @property
    def cluster(self) -> str:
        """Return the name of the cluster in the site file, which knows no underscores."""
        return self.name.replace("_", "-").strip("-")

    @property
    def network(self) -> str:
        """Return the name of the lab's network in the engine."""
        return f"trackbed-{self.name}"

    def container(self, node: str) -> str:
        """Return the name of a node's container in the engine."""
        return f"trackbed-{self.name}-{node}"


def check_name(name: str) -> str:
    """Return the name of a lab, or raise UsageError: it becomes part of paths and host names."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a lab",
            wanted="1 to 40 of a-z, 0-9, '_' and '-', a letter or digit first",
            remedy="choose another --name",
        )
    return name


@dataclass(frozen=True)
class NodePaths:
    """Where one node's files lie on the host."""

    dir: Path

    @property
    def state(self) -> Path:
        """What the node is made of, and its faults."""
        return self.dir / "state.yml"

    @property
    def hardware(self) -> Path:
        """Bound to /lab/hw in the node: what its programs see of the hardware, live."""
        return self.dir / "hw"

    @property
    def boot(self) -> Path:
        """Bound read-only to /lab/boot in the node: what it reads while it boots."""
        return self.dir / "boot"

    @property
    def cold(self) -> Path:
        """The hardware as it is after a boot: the node copies it over `hardware` then."""
        return self.boot / "cold"


@dataclass(frozen=True)
class LabPaths:
    """Where one lab's files lie on the host."""

    dir: Path

    @property
    def name(self) -> str:
        """The lab's name: its directory's."""
        return self.dir.name

    @property
    def record(self) -> Path:
        """What was made (see record.py)."""
        return self.dir / "lab.json"

    @property
    def inventory(self) -> Path:
        """The inventory directory."""
        return self.dir / "inventory"

    @property
    def site(self) -> Path:
        """The site file in it."""
        return self.inventory / "cluster.trackbed.yml"

    @property
    def journal(self) -> Path:
        """The cluster's journal."""
        return self.dir / "journal.sqlite"

    @property
    def ssh(self) -> Path:
        """The client's keys."""
        return self.dir / "ssh"

    @property
    def key(self) -> Path:
        """The client's private key."""
        return self.ssh / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """The nodes' host keys."""
        return self.ssh / "known_hosts"

    @property
    def runtime(self) -> Path:
        """The wrapped OCI runtime, where this host needs one (see runtime.py)."""
        return self.dir / "oci-runtime"

    def node(self, name: str) -> NodePaths:
        """Return the places of one node."""
        return NodePaths(self.dir / "nodes" / name)


def lab_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory that holds one directory for each lab."""
    given = environ.get("TRACKBED_LAB_DIR")
    if given:
        return Path(given).absolute()
    state = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state).absolute() / "trackbed" / "lab"


def lab_paths(name: str, environ: Mapping[str, str] = os.environ) -> LabPaths:
    """Return where the lab of this name lies."""
    return LabPaths(lab_root(environ) / check_name(name))


def host_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where facts lie that all labs of this host share; gone after a boot, as they are."""
    if os.geteuid() == 0:
        return Path("/run/trackbed-lab")
    base = environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "trackbed-lab" if base else lab_root(environ) / ".host"
