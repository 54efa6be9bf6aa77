"""Hosts that mount the cgroups of both versions: give the engine a view with version 2 alone.

crun refuses such hosts. A mount namespace of our own, in which /sys/fs/cgroup is cgroup2, satisfies
it and leaves the host's mounts alone. All engine calls for all labs of a host must be made in the
same namespace, so one process (the keeper) holds it until the last lab has gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from trackbed.errors import TrackbedError

UNIFIED = "unified"
HYBRID = "hybrid"
_KEEPER = "trackbed-lab-keeper"
_START_SECONDS = 10.0
_ENTER = (
    "umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && echo ready && "
    f"exec -a {_KEEPER} sleep infinity"
)
_STAY = f"echo ready && exec -a {_KEEPER} sleep infinity"


def layout(mounts: str) -> str:
    """Return UNIFIED where /proc/mounts shows cgroup2 alone at /sys/fs/cgroup, else HYBRID."""
    fields = [line.split() for line in mounts.splitlines()]
    kinds = {row[1]: row[2] for row in fields if len(row) > 2}
    return UNIFIED if kinds.get("/sys/fs/cgroup") == "cgroup2" else HYBRID


@dataclass(frozen=True)
class Keeper:
    """The process that holds the namespace; its start time tells it from a later one's number."""

    pid: int
    started: int
    namespace: str = ""
    """What /proc/PID/ns/mnt says; other processes in the namespace say the same."""

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return start_time(self.pid) == self.started

    @property
    def prefix(self) -> tuple[str, ...]:
        """Return what to put before a command that must run in the namespace."""
        return ("nsenter", "--target", str(self.pid), "--mount", "--")

    @property
    def controllers(self) -> str:
        """Return the cgroup.controllers that its namespace shows."""
        return _controllers(Path(f"/proc/{self.pid}/root"))


def host_controllers() -> str:
    """Return the cgroup.controllers of the host itself."""
    return _controllers(Path("/"))


def _controllers(root: Path) -> str:
    try:
        return (root / "sys/fs/cgroup/cgroup.controllers").read_text(encoding="ascii")
    except OSError:
        return ""


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks after the boot; None where it is not there."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name, in brackets, may hold blanks; state is the first field after it (proc(5)).
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def namespace_of(pid: int | str) -> str:
    """Return the mount namespace of a process; empty where it is not there."""
    try:
        return str(Path(f"/proc/{pid}/ns/mnt").readlink())
    except OSError:
        return ""


def start_keeper() -> Keeper:
    """Start the keeper, detached from this command. Raises TrackbedError where that is refused."""
    return _launch(["unshare", "--mount", "bash", "-c", _ENTER])


def revive(namespace: str) -> Keeper | None:
    """Start another keeper in a namespace whose keeper was killed.

    The monitors of running containers hold it too; None where no process does.
    """
    if not namespace:
        return None
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and namespace_of(entry.name) == namespace:
            return _launch(["nsenter", "--target", entry.name, "--mount", "bash", "-c", _STAY])
    return None


def _launch(argv: list[str]) -> Keeper:
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None  # noqa: S101  (for mypy)
    answer = process.stdout.readline().strip()
    process.stdout.close()
    started = start_time(process.pid)
    if answer != "ready" or started is None:
        process.wait(timeout=_START_SECONDS)
        raise TrackbedError(
            f"this host mounts cgroup version 1, and a private view of version 2 was refused: "
            f"{process.stderr.read().strip() or 'no message'}",
            wanted="cgroup2 at /sys/fs/cgroup, or the right to mount it privately",
            remedy="boot with systemd.unified_cgroup_hierarchy=1, or run as root outside of a "
            "container",
        )
    process.stderr.close()
    return Keeper(process.pid, started, namespace_of(process.pid))


def stop_keeper(keeper: Keeper) -> None:
    """End the keeper, if it still runs; its mounts end with it."""
    if not keeper.alive:
        return
    os.kill(keeper.pid, signal.SIGTERM)
    deadline = time.monotonic() + _START_SECONDS
    while keeper.alive and time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):  # another command started it
            os.waitpid(keeper.pid, os.WNOHANG)
        time.sleep(0.02)
