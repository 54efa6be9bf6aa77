"""journalctl: puts the kernel's log of this boot into the journal, then is the real journalctl.

systemd-journald reads the kernel's log from /dev/kmsg, which a container has not. The records are
written with systemd-journal-remote into a journal of their own, anew when the log has changed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence

from ..common import kernel_log
from ..common.places import place, text_of

REAL = "/usr/bin/journalctl.distrib"
_WRITER = "/usr/lib/systemd/systemd-journal-remote"
_SEEN = "/lab/run/kernel.journal.stamp"
_WRITE_SECONDS = 20.0
# What systemd's own units ask of journalctl while it boots shows no log.
_UPKEEP = ("--flush", "--update-catalog", "--rotate", "--sync", "--relinquish", "--smart", "--vac")


def main(argv: Sequence[str] | None = None) -> int:
    """Bring the journal up to date, where the caller may; then run the real program."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        if not any(word.startswith(_UPKEEP) for word in words):
            refresh()
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"journalctl: the lab could not write the kernel's log: {error}\n")
    os.execv(str(place(REAL)), ["journalctl", *words])  # noqa: S606  (it becomes the real one)
    return 1  # only tests come here


def refresh() -> bool:
    """Write the kernel's records into a journal, if they changed and the caller is root."""
    machine = text_of("/etc/machine-id")
    stamp = kernel_log.stamp()
    if os.geteuid() != 0 or not machine or text_of(_SEEN) == stamp:
        return False
    directory = place(f"/run/log/journal/{machine}")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "system@lab-kernel.journal"
    other = path.with_name("lab-kernel.new.journal")
    other.unlink(missing_ok=True)
    subprocess.run(
        [str(place(_WRITER)), "--output", str(other), "-"],
        input=export(machine).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=_WRITE_SECONDS,
        check=True,
    )
    shutil.chown(other, group="systemd-journal")
    other.chmod(0o640)
    other.replace(path)
    place(_SEEN).parent.mkdir(parents=True, exist_ok=True)
    place(_SEEN).write_text(f"{stamp}\n", encoding="ascii")
    return True


def export(machine: str) -> str:
    """Return the records in the journal's export format: systemd, docs/JOURNAL_EXPORT_FORMATS."""
    boot = (text_of("/proc/sys/kernel/random/boot_id") or "").replace("-", "")
    since = kernel_log.booted()
    host = socket.gethostname()
    records = []
    for entry in kernel_log.entries():
        fields = {
            "__REALTIME_TIMESTAMP": int((since + entry.seconds) * 1_000_000),
            "__MONOTONIC_TIMESTAMP": int(entry.seconds * 1_000_000),
            "_BOOT_ID": boot,
            "_MACHINE_ID": machine,
            "_HOSTNAME": host,
            "_TRANSPORT": "kernel",
            "SYSLOG_FACILITY": 0,
            "SYSLOG_IDENTIFIER": "kernel",
            "PRIORITY": entry.level,
            "MESSAGE": entry.text,
        }
        records.append("".join(f"{key}={value}\n" for key, value in fields.items()))
    return "".join(f"{record}\n" for record in records)
