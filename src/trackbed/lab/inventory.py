"""Write the inventory of a lab: the same files that a site of real nodes has."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

import yaml

from trackbed.lab import files
from trackbed.lab.keys import USER, ssh_options
from trackbed.lab.record import LabRecord
from trackbed.lab.spec import LabPaths

_HEAD = "# Written by `trackbed lab up`; the next one overwrites it.\n"


def control_dir(paths: LabPaths, shared: Path) -> Path:
    """Return where ssh keeps its open connections to this lab.

    In the host's directory, because a socket's path must be short (108 bytes, unix(7)), and one for
    each lab, so that `down` can close them.
    """
    return shared / f"ssh-{hashlib.sha256(str(paths.dir).encode()).hexdigest()[:8]}"


def documents(record: LabRecord, paths: LabPaths, control: Path) -> dict[str, dict[str, Any]]:
    """Return each file of the inventory, by its name in the inventory directory."""
    spec = record.spec
    found: dict[str, dict[str, Any]] = {
        "cluster.trackbed.yml": {
            "plugin": "trackbed.cluster.cluster",
            "cluster": spec.cluster,
            "journal": str(paths.journal),
            "nodes": [{"names": spec.node_pattern, "sku": spec.sku}],
        },
        "group_vars/all.yml": {
            "ansible_user": USER,
            "ansible_ssh_private_key_file": str(paths.key),
            "ansible_ssh_common_args": shlex.join(ssh_options(paths)),
            "ansible_control_path_dir": str(control),
            "ansible_pipelining": True,
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_become": True,
            "ansible_become_method": "ansible.builtin.sudo",
            # A container may not be allowed to raise limits; a real node's root is.
            "kernel_tuning_limits_ungrantable": "lower",
        },
    }
    for name, address in record.addresses.items():
        found[f"host_vars/{name}.yml"] = {"ansible_host": address}
    return found


def write(record: LabRecord, paths: LabPaths, control: Path) -> bool:
    """Write the inventory; return whether that changed anything."""
    changed = False
    for name, document in documents(record, paths, control).items():
        place = paths.inventory / name
        files.private_dir(place.parent)
        text = _HEAD + yaml.safe_dump(document, sort_keys=False, width=1000)
        changed = files.write(place, text) or changed
    return changed
