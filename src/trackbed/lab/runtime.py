"""The OCI runtime for hosts where CAP_SYS_RESOURCE is missing.

crun and runc enforce a container's device rules by a BPF program, and raise RLIMIT_MEMLOCK to load
it. Where raising is refused no container starts, unless all devices are allowed. The usual way out,
`--privileged`, would hand the host's devices to the nodes; instead the rules alone are left out.
Nothing becomes reachable: the nodes' /dev holds the engine's few harmless files, and CAP_MKNOD is
dropped, so no other can be made.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from trackbed.lab import files

_WRAPPER = """\
#!{python}
# Written by `trackbed lab up`: the OCI runtime without device rules (see trackbed/lab/runtime.py).
import json, os, sys

arguments = sys.argv[1:]
if "create" in arguments and "--bundle" in arguments:
    path = os.path.join(arguments[arguments.index("--bundle") + 1], "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config.get("linux", {{}}).get("resources", {{}}).pop("devices", None)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
os.execv({real!r}, [{real!r}, *arguments])
"""


def wrapper(real: str, python: str) -> str:
    """Return the wrapper's text; `real` is the runtime's absolute path."""
    return _WRAPPER.format(python=shlex.quote(python), real=real)


def write(path: Path, real: str) -> None:
    """Write the wrapper, executable."""
    system = Path("/usr/bin/python3")  # outlives the environment that trackbed runs in
    python = str(system) if system.exists() else sys.executable
    files.write(path, wrapper(real, python), mode=0o700)
