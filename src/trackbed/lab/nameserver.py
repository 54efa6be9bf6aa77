"""Podman's name server, aardvark-dns: it must not outlive the labs that it served.

It keeps a file for each network in use and ends with the last of them. A node that was killed
together with its engine leaves its file behind, and then the server of every later lab stays.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_PROGRAM = "aardvark-dns"
_PID = "aardvark.pid"
OURS = "trackbed-"
_SECONDS = 5.0

Kill = Callable[[int, int], None]


def directory(environ: Mapping[str, str], user: int) -> Path:
    """Return where podman keeps the files of the name server for this user (netavark 1.4 on)."""
    run = Path("/run") if user == 0 else Path(environ.get("XDG_RUNTIME_DIR", f"/run/user/{user}"))
    return run / "containers/networks" / _PROGRAM


def forget(
    place: Path, networks: Iterable[str], *, proc: Path = Path("/proc"), kill: Kill = os.kill
) -> list[str]:
    """Remove what is kept of labs whose networks are gone, and return the names of these networks.

    `networks` are those that the engine knows; others' files are never touched. A server that
    runs reads its files again, and ends where none is left.
    """
    known = frozenset(networks)
    stale = [
        path for path in sorted(place.glob(f"{OURS}*")) if path.name not in known and path.is_file()
    ]
    for path in stale:
        path.unlink(missing_ok=True)
    server = _server(place, proc) if stale else None
    if server is not None:
        # It may have ended by itself since.
        with contextlib.suppress(ProcessLookupError):
            kill(server, signal.SIGHUP)
        _wait_for_its_end(place, proc)
    return [path.name for path in stale]


def _wait_for_its_end(place: Path, proc: Path) -> None:
    """Wait, for a while, until a server that has no network any more has ended."""
    end = time.monotonic() + _SECONDS
    while _server(place, proc) is not None and time.monotonic() < end:
        if any(path.name != _PID for path in place.iterdir()):
            return  # others' networks: it stays
        time.sleep(0.05)


def _server(place: Path, proc: Path) -> int | None:
    """Return the process of the name server; None where it does not run."""
    try:
        pid = int((place / _PID).read_text(encoding="ascii"))
        name = (proc / str(pid) / "comm").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return pid if name == _PROGRAM else None
