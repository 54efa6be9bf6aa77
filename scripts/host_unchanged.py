"""Compare this host before and after the tests that start nodes: nothing of it may differ.

usage: host_unchanged.py save FILE | compare FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

from trackbed import collection

collection.activate()

from trackbed.errors import TrackbedError, UsageError  # noqa: E402
from trackbed.lab import hostsnapshot  # noqa: E402
from trackbed.lab.host import Host  # noqa: E402
from trackbed.lab.spec import host_dir  # noqa: E402


def labs() -> list[str]:
    """Return the labs that are up on this host; their networks and mounts belong to them."""
    host = Host(host_dir())
    try:
        engine = host.engine(host.engine_kind(), start=False)
    except UsageError:
        return []
    return engine.labs() if engine is not None else []


def save(file: Path) -> int:
    """Keep what the host looks like now; keep nothing where another lab would disturb it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    running = labs()
    if running:
        _say(f"the host will not be compared: these labs are up: {', '.join(running)}")
        return 0
    file.write_text(hostsnapshot.take().to_json(), encoding="utf-8")
    _say("kept")
    return 0


def compare(file: Path) -> int:
    """Return 1, and print each difference, where the host is not as it was."""
    if not file.is_file():
        _say("not compared: other labs were up at the beginning")
        return 0
    running = labs()
    if running:
        _say(f"these labs are still up, but none was before: {', '.join(running)}")
        return 1
    before = hostsnapshot.HostSnapshot.from_json(file.read_text(encoding="utf-8"))
    differences = hostsnapshot.compare(before, hostsnapshot.take())
    for line in differences:
        _say(line)
    _say(f"{len(differences)} differences between the host before and after")
    return 1 if differences else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main(arguments: list[str]) -> int:
    """Run one of the two verbs."""
    verbs = {"save": save, "compare": compare}
    if len(arguments) != 2 or arguments[0] not in verbs:
        sys.stderr.write("usage: host_unchanged.py save FILE | compare FILE\n")
        return 2
    try:
        return verbs[arguments[0]](Path(arguments[1]))
    except TrackbedError as error:
        _say(f"{error.found}\n  wanted: {error.wanted}\n  to do:  {error.remedy}")
        return error.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
