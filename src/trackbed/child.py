"""Run as `python -m trackbed.child COMMAND…`: what stands between the runner and ansible-playbook.

ansible-runner writes the environment of the command that it starts to disk. So
it gets one without secrets, and this program takes the rest from its parent, in
memory. It also makes the kernel end the command when the parent dies, however
it dies: a playbook without a journal must not go on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # prctl(2)
PARENT = "TRACKBED_PARENT"
NOT_STARTED = 127


def merged(parent: bytes, own: Mapping[str, str]) -> dict[str, str]:
    """Return the parent's environment (as in /proc/PID/environ) below our own."""
    found: dict[str, str] = {}
    for entry in parent.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if name and equals:
            found[os.fsdecode(name)] = os.fsdecode(value)
    return {**found, **{name: value for name, value in own.items() if name != PARENT}}


def main() -> int:
    """Become the command; return only where that is impossible."""
    expected = int(os.environ[PARENT])
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != expected:  # it died before the line above
        return NOT_STARTED
    environ = merged(Path(f"/proc/{expected}/environ").read_bytes(), os.environ)
    try:
        os.execvpe(sys.argv[1], sys.argv[1:], environ)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: {error.strerror}\n")
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main())
