"""lab.json: what was made for a lab, so that the next command finds it again."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trackbed.errors import TrackbedError
from trackbed.lab import files
from trackbed.lab.spec import LabPaths, LabSpec

SCHEMA = 1
HEAD_NUMBER = 2
FIRST_NODE = 11


@dataclass(frozen=True)
class LabRecord:
    """A lab as it was made; `finished` once every node had answered."""

    spec: LabSpec
    engine: str
    image: str
    subnet: str
    finished: bool = False
    head_image: str = ""

    @property
    def head_address(self) -> str:
        """Return the head's address."""
        return str(ipaddress.ip_network(self.subnet)[HEAD_NUMBER])

    @property
    def addresses(self) -> dict[str, str]:
        """Return each node's address."""
        network = ipaddress.ip_network(self.subnet)
        names = self.spec.node_names
        return {name: str(network[FIRST_NODE + index]) for index, name in enumerate(names)}

    def finish(self) -> LabRecord:
        """Return the record of a lab whose nodes all answered."""
        return replace(self, finished=True)

    def save(self, path: Path) -> None:
        """Write the record; a reader sees the old one or the new one, whole."""
        files.write(path, json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2) + "\n")


def load(path: Path) -> LabRecord | None:
    """Return the record, or None where there is none. Raises TrackbedError for a broken one."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        return LabRecord(**{**raw, "spec": LabSpec(**raw["spec"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise TrackbedError(
            f"{path} cannot be read: {error}",
            wanted=f"the record of a lab, schema {SCHEMA}",
            remedy=f"remove the lab with `trackbed lab down --name {path.parent.name}`",
        ) from error


def all_labs(root: Path) -> Iterator[LabPaths]:
    """Yield the labs that have a directory, in order of name."""
    if root.is_dir():
        for entry in sorted(root.iterdir()):
            if entry.is_dir() and not entry.name.startswith("."):
                yield LabPaths(entry)
