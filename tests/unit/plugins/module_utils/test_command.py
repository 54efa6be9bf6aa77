"""A tool that hangs, floods, forks or is missing never takes us with it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _command

PYTHON = sys.executable


def test_a_tool_that_answers() -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    result = _command.run([PYTHON, "-c", script], 20, now="2026-12-01T04:50:03Z")
    assert (result.outcome, result.rc, result.cut) == (_command.OK, 3, False)
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert result.started == "2026-12-01T04:50:03Z"
    assert result.argv == (PYTHON, "-c", script)
    assert result.seconds > 0


def test_a_tool_that_is_not_there() -> None:
    result = _command.run(["trackbed-no-such-tool"], 5)
    assert (result.outcome, result.rc, result.stdout) == (_command.ABSENT, None, b"")


def test_a_tool_that_cannot_be_started(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_bytes(b"\x7fELF no program at all")
    tool.chmod(0o755)
    result = _command.run([str(tool)], 5)
    assert result.outcome == _command.ERROR
    assert b"xec format" in result.stderr


def test_locale_is_c_and_standard_input_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_NUMERIC", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    script = (
        "import os, sys; e = os.environ;"
        "print(e['LC_ALL'], e['LANG'], 'LC_NUMERIC' in e, 'LANGUAGE' in e, repr(sys.stdin.read()))"
    )
    assert _command.run([PYTHON, "-c", script], 20).stdout == b"C C False False ''\n"


def test_a_tool_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "print('half', flush=True)\n"
        "time.sleep(300)\n"
    )
    result = _command.run([PYTHON, "-c", script], 3)
    assert (result.outcome, result.rc, result.stdout) == (_command.TIMEOUT, None, b"half\n")
    assert _ends(int(pid_file.read_text()))


def test_a_tool_that_ignores_the_polite_signal() -> None:
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
    assert _command.run([PYTHON, "-c", script], 0.5).outcome == _command.TIMEOUT


def test_a_tool_that_closes_its_output_and_runs_on() -> None:
    script = "import os, time; os.close(1); os.close(2); time.sleep(300)"
    assert _command.run([PYTHON, "-c", script], 1.5).outcome == _command.TIMEOUT


def test_a_child_that_holds_the_pipe_does_not_hold_us(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "print('done', flush=True)\n"
    )
    result = _command.run([PYTHON, "-c", script], 200)
    assert (result.outcome, result.rc, result.stdout) == (_command.OK, 0, b"done\n")
    assert _ends(int(pid_file.read_text()))


def test_output_is_bounded() -> None:
    script = "import sys; sys.stdout.write('x' * 300_000); sys.stderr.write('y' * 300_000)"
    result = _command.run([PYTHON, "-c", script], 20, limit_bytes=1000)
    assert (result.outcome, result.rc) == (_command.OK, 0)  # it could write all of it
    assert (result.stdout, result.cut) == (b"x" * 1000, True)
    assert len(result.stderr) == _command.STDERR_LIMIT_BYTES


def test_a_tool_that_floods_for_ever() -> None:
    script = "import os\nwhile True: os.write(1, b'x' * 65536)"
    result = _command.run([PYTHON, "-c", script], 1, limit_bytes=1000)
    assert (result.outcome, len(result.stdout), result.cut) == (_command.TIMEOUT, 1000, True)


def test_search_path_adds_what_sudo_leaves_out() -> None:
    assert _command.search_path("/usr/bin:/sbin") == "/usr/bin:/sbin:/usr/local/sbin:/usr/sbin"


def _ends(pid: int) -> bool:
    """Wait until the process is gone; a zombie that nobody has reaped yet counts as gone."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            if " Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False
