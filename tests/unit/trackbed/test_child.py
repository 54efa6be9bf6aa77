"""The supervisor by itself: environment, orders, and the end of everything below it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trackbed import child
from trackbed.control import Control

# Leaves its session, as the workers of ansible-core do, and ignores what is polite.
STUBBORN = "trap '' INT TERM; setsid sh -c 'trap \"\" INT TERM; echo up; while :; do sleep 1; done'"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir(mode=0o700)
    return tmp_path / "private"


@pytest.fixture
def control(private: Path) -> Iterator[Control]:
    made = Control(private)
    yield made
    made.close(0)


def _start(control: Control, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(control.command(list(command)), stdout=subprocess.PIPE, text=True)


def test_a_large_environment_arrives_whole_and_nothing_else_does(control: Control) -> None:
    # More than a FIFO holds at once (64 KiB, pipe(7)); one string may have 128 KiB (execve(2)).
    sent = {"PATH": os.environ["PATH"], **{f"BIG_{n}": "x" * 100_000 for n in range(5)}}
    control.send_environment(sent)
    process = _start(control, sys.executable, "-c", "import os; print(sorted(os.environ.items()))")
    said, _ = process.communicate(timeout=60)
    arrived = dict(eval(said))
    arrived.pop("LC_CTYPE", None)  # python's own
    assert arrived == sent
    assert process.returncode == 0


def test_an_order_given_while_the_environment_is_sent_is_no_part_of_it(control: Control) -> None:
    control.send_environment({"PATH": os.environ["PATH"], "BIG": "x" * 120_000})
    control.stop()
    process = _start(control, "sleep", "600")
    assert process.wait(60) == 128 + 2, "SIGINT"
    assert control.was_stopped


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -KILL $$", 128 + 9)])
def test_the_exit_code_is_that_of_the_command(control: Control, command: str, code: int) -> None:
    control.send_environment(dict(os.environ))
    assert _start(control, "sh", "-c", command).wait(60) == code


def test_a_command_that_is_not_there_is_said(control: Control) -> None:
    control.send_environment({"PATH": "/nowhere"})
    process = _start(control, "no-such-program")
    said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (
        child.NOT_STARTED,
        "no-such-program: No such file or directory\n",
    )


def test_an_order_to_kill_ends_what_ignores_everything_else(control: Control) -> None:
    control.send_environment(dict(os.environ))
    process = _start(control, "sh", "-c", STUBBORN)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    below = child.descendants(process.pid)
    assert len(below) >= 2
    begun = time.monotonic()
    control.kill()
    assert process.wait(60) == 128 + 9
    assert time.monotonic() - begun < child.GRACE, "without waiting for a clean end"
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_what_does_not_end_in_time_is_killed(
    control: Control, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(child.__file__).read_text().replace("GRACE = 10.0", "GRACE = 0.3")
    (private.parent / "hasty.py").write_text(program)
    monkeypatch.setattr(child, "__file__", str(private.parent / "hasty.py"))
    control.send_environment(dict(os.environ))
    process = _start(control, "sh", "-c", STUBBORN)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    below = child.descendants(process.pid)
    control.stop()
    assert process.wait(60) == 128 + 9
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_without_a_parent_nothing_is_started_and_nothing_is_left(private: Path) -> None:
    control = Control(private)
    command = control.command(["touch", str(private.parent / "started")])
    assert control.close(1)
    assert subprocess.run(command, check=False, timeout=60).returncode == child.NOT_STARTED
    assert list(private.parent.iterdir()) == []


def test_a_parent_that_dies_takes_all_with_it(private: Path) -> None:
    control = Control(private)
    control.send_environment(dict(os.environ))
    process = _start(control, "sleep", "600")
    while not child.descendants(process.pid):
        time.sleep(0.01)
    assert control.close(60), "the lock is free once it has ended"
    assert process.wait(60) == 128 + 2
    assert not private.exists()


def test_a_signal_to_the_supervisor_is_passed_on(control: Control) -> None:
    control.send_environment(dict(os.environ))
    process = _start(control, "sh", "-c", "echo up; exec sleep 600")
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.terminate()
    assert process.wait(60) == 128 + 2


def test_waiting_for_the_end_has_an_end(control: Control) -> None:
    control.send_environment(dict(os.environ))
    process = _start(control, "sh", "-c", STUBBORN)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    assert not control.close(0.1)
    for pid in child.descendants(process.pid):
        os.kill(pid, 9)
    assert control.close(60)
    assert process.wait(60) == 128 + 9


def test_descendants_are_those_below_and_no_others() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE) as sh:
        assert sh.stdout is not None
        below = int(sh.stdout.readline())
        assert child.descendants(sh.pid) == [below]
        assert {sh.pid, below} <= set(child.descendants(os.getpid()))
        os.kill(below, 9)
    assert child.descendants(below) == []
