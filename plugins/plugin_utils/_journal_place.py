# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a journal may lie, and who may write to it. Private to trackbed.cluster."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import re
import socket
import sqlite3
import time
import typing as t
from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import JournalError

# Type names as /proc/self/mountinfo prints them (proc_pid_mountinfo(5), field after the "-").
# On these a POSIX lock or an fsync does not hold between hosts as SQLite needs it to
# (https://www.sqlite.org/howtocorrupt.html, section 2.1; https://www.sqlite.org/useovernet.html).
NETWORK_TYPES = frozenset(
    {
        "9p", "acfs", "afs", "beegfs", "beegfs_nodev", "ceph", "cifs", "coda", "davfs", "gfs2",
        "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "panfs", "pvfs2", "smb3",
        "smbfs", "vboxsf", "wekafs",
    }
)  # fmt: skip
# FUSE prints "fuse.<what>"; fuse-overlayfs, ntfs and the like are local.
NETWORK_FUSE = frozenset(
    {
        "afp", "blobfuse", "blobfuse2", "ceph", "ceph-fuse", "curlftpfs", "davfs", "gcsfuse",
        "glusterfs", "goofys", "hdfs", "juicefs", "JuiceFS", "mount-s3", "mountpoint-s3", "rclone",
        "s3fs", "s3ql", "seaweedfs", "sshfs",
    }
)  # fmt: skip

_MOUNTINFO = Path("/proc/self/mountinfo")
# A reader looks at the lock for an instant; the writer tries again this long (seconds).
_LOCK_PATIENCE = 2.0


def file_system_of(path: str, mountinfo: str) -> str | None:
    """Return the type of the file system that holds an absolute path, or None where unknown.

    `mountinfo` is the text of /proc/self/mountinfo; of two mounts on one place the later counts.
    """
    best, kind = "", None
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        fields = left.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split(" ", 1)[0]
    return kind


def is_network(kind: str | None) -> bool:
    """Return whether a file system of this type is reached over a network."""
    if kind is None:
        return False
    name, _dot, fuse = kind.partition(".")
    return name in NETWORK_TYPES or (name == "fuse" and fuse in NETWORK_FUSE)


def refuse_network_place(path: Path, mountinfo: str | None = None) -> None:
    """Raise JournalError where the path lies on a network file system."""
    text = _MOUNTINFO.read_text(encoding="utf-8") if mountinfo is None else mountinfo
    kind = file_system_of(str(path.resolve()), text)
    if is_network(kind):
        raise JournalError(
            f"{path} lies on a network file system ({kind})",
            wanted="a local disk: locks over a network do not keep two writers apart",
            remedy="put the journal on a local path in the cluster file; "
            "`trackbed journal export` moves it to another controller",
        )


class WriterLock:
    """The right to write, held by one process: an flock on a file beside the journal.

    The kernel drops it when the process ends, however it ends.
    """

    def __init__(self, journal: Path) -> None:
        """Name the lock of this journal; `acquire` takes it."""
        self._journal = journal
        self._path = journal.with_name(journal.name + ".lock")
        self._fd: int | None = None

    def acquire(self, patience: float = _LOCK_PATIENCE) -> None:
        """Take the lock, or raise JournalError that names the holder."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + patience
        while not _flock(fd, fcntl.LOCK_EX):
            if time.monotonic() >= until:
                holder = _holder(fd)
                os.close(fd)
                raise JournalError(
                    f"{self._journal} is being written by {holder}",
                    wanted="one writer at a time",
                    remedy="wait for that run to end, or end it (it can be resumed)",
                )
            time.sleep(0.05)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(_myself()).encode(), 0)
        self._fd = fd

    def release(self) -> None:
        """Give the lock back; the file stays, so that two writers never hold two files."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def is_held(self) -> bool:
        """Return whether any process holds it now."""
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not _flock(fd, fcntl.LOCK_SH)
        finally:
            os.close(fd)


def create_private(path: Path) -> None:
    """Make an empty file that only its owner can read, and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _flock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        return False
    return True


def _myself() -> dict[str, t.Any]:
    now = datetime.datetime.now(datetime.UTC)
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _holder(fd: int) -> str:
    try:
        told = json.loads(os.pread(fd, 4096, 0))
        return f"process {told['pid']} on {told['host']} since {told['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


@contextlib.contextmanager
def as_journal_error(place: Path) -> t.Iterator[None]:
    """Turn what SQLite and the operating system say into our own error."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(
            f"the journal {place} cannot be used: {error}",
            wanted="a readable, writable file with room on its disk",
            remedy="free space, or correct owner and mode; what was written before is safe",
        ) from error
