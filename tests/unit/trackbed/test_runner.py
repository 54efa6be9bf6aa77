"""The traps of running ansible-playbook below another program, each with the real thing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal

from trackbed import child
from trackbed.errors import TrackbedError
from trackbed.runner import Job, Runner

INVENTORY = f"""
all:
  hosts:
    gpu-001:
      ansible_connection: local
      ansible_python_interpreter: {sys.executable}
"""
HEAD = "- hosts: all\n  gather_facts: false\n  tasks:\n"
SECRET = "hunter22-planted"


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    def make(tasks: str, **more: Any) -> Job:
        (tmp_path / "inventory.yml").write_text(INVENTORY)
        (tmp_path / "play.yml").write_text(HEAD + textwrap.indent(textwrap.dedent(tasks), "    "))
        return Job(str(tmp_path / "play.yml"), (str(tmp_path / "inventory.yml"),), **more)

    return make


class Events:
    """Keeps every event."""

    def __init__(self) -> None:
        self.all: list[Mapping[str, Any]] = []

    def __call__(self, event: Mapping[str, Any]) -> bool:
        self.all.append(event)
        return False

    def results(self) -> list[Any]:
        return [e["event_data"]["res"] for e in self.all if e["event"] == "runner_on_ok"]


def _leftovers(needle: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if needle in words and str(os.getpid()) != place.parent.name:
            found.append(words)
    return found


def _wait_until_gone(needle: str) -> list[str]:
    for _ in range(100):
        if not _leftovers(needle):
            break
        time.sleep(0.1)
    return _leftovers(needle)


def _wait_for_a_step(place: Path) -> None:
    for _ in range(200):
        with Journal.open(place, read_only=True) as journal:
            if journal.steps(journal.runs()[0].id):
                return
        time.sleep(0.05)
    raise AssertionError("no step was written")


def test_variables_options_and_check_mode_arrive(job: Callable[..., Job]) -> None:
    events = Events()
    tasks = """
    - ansible.builtin.debug:
        msg: "{{ one }} {{ two }} {{ ansible_check_mode }}"
    """
    made = job(tasks, variables={"one": "1 a"}, options=("-e", "two=2"), check=True)
    outcome = Runner().run(made, events)
    assert (outcome.rc, outcome.status) == (0, "successful")
    assert events.results()[0]["msg"] == "1 a 2 True"


def test_a_playbook_that_does_not_start_says_why(job: Callable[..., Job]) -> None:
    outcome = Runner().run(job("- no_such_module:\n"), Events())
    assert outcome.rc != 0
    assert "no_such_module" in outcome.output


def test_the_users_ansible_cfg_and_environment_count(
    job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = Events()
    names = "ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_PIPELINING", "ANSIBLE_CACHE_PLUGIN"
    looks = " ".join(f"{{{{ lookup('env', '{name}') }}}}|" for name in names)
    tasks = f"""
    - ansible.builtin.debug:
        msg: "{looks} {{{{ lookup('config', 'DEFAULT_FORKS') }}}} {{{{ lookup('pipe', 'pwd') }}}}"
    """
    (tmp_path / "ansible.cfg").write_text("[defaults]\nforks = 17\n")
    tmp_path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    monkeypatch.delenv("ANSIBLE_HOST_KEY_CHECKING", raising=False)
    monkeypatch.setenv("ANSIBLE_PIPELINING", "no")
    assert Runner().run(job(tasks), events).rc == 0
    assert events.results()[0]["msg"] == f"| no| | 17 {tmp_path}"


def test_what_a_task_prints_is_not_kept_on_disk(
    job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    left: list[str] = []

    def look(event: Mapping[str, Any]) -> bool:
        if event["event"] == "playbook_on_stats":
            files = [one for one in (tmp_path / "tmp").rglob("*") if one.is_file()]
            left.extend(one.name for one in files if SECRET.encode() in one.read_bytes())
            left.extend(one.name for one in files if one.stat().st_mode & 0o077)
            assert files
        return False

    tasks = f"""
    - ansible.builtin.set_fact:
        cacheable: true
        shown: {SECRET}
    - ansible.builtin.debug:
        var: shown
    """
    # What a run is given is in a file of its own that nobody else can read.
    assert Runner().run(job(tasks), look).rc == 0
    assert left == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_events_that_do_not_arrive_are_no_success(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the count had been lost on a full disk.
    monkeypatch.setattr("trackbed.runner._STATS", "nothing_of_that_name")
    with pytest.raises(TrackbedError, match="events did not arrive"):
        Runner().run(job("- ansible.builtin.debug:\n"), Events())


def test_a_full_disk_of_the_runner_is_told_and_leaves_nothing(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trackbed.runner.Engine.run", full)
    with pytest.raises(TrackbedError, match="No space left") as error:
        Runner().run(job("- ansible.builtin.debug:\n"), Events())
    assert "TMPDIR" in error.value.remedy


def test_a_result_of_a_megabyte_is_not_lost(job: Callable[..., Job]) -> None:
    events = Events()
    Runner().run(job("- ansible.builtin.debug:\n    msg: \"{{ 'x' * 1000000 }}\"\n"), events)
    assert len(events.results()[0]["msg"]) == 1_000_000


def test_a_result_above_the_limit_comes_as_nothing(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The recorder turns this into a reported problem (test_recorder.py).
    monkeypatch.setattr("trackbed.runner._MAX_EVENT_RES", 1000)
    events = Events()
    outcome = Runner().run(job("- ansible.builtin.debug:\n    msg: \"{{ 'x' * 2000 }}\"\n"), events)
    assert outcome.status == "successful"
    assert events.results() == [{}]


@pytest.mark.parametrize("error", [ValueError("defect"), OSError(28, "No space left on device")])
def test_a_failing_handler_stops_the_playbook_and_is_raised(
    job: Callable[..., Job], error: Exception, tmp_path: Path
) -> None:
    def handler(event: Mapping[str, Any]) -> bool:
        if event["event"] == "runner_on_start":
            raise error
        return False

    with pytest.raises(type(error), match=r"defect|No space"):
        Runner().run(job("- ansible.builtin.command: sleep 600\n"), handler)
    assert _wait_until_gone(str(tmp_path / "play.yml")) == []


def test_a_run_that_must_stop_is_stopped(job: Callable[..., Job], tmp_path: Path) -> None:
    events = Events()
    outcome = Runner().run(
        job("- ansible.builtin.command: sleep 600\n"),
        events,
        lambda: any(one["event"] == "runner_on_start" for one in events.all),
    )
    assert (outcome.status, outcome.interrupted) == ("canceled", False)
    assert _wait_until_gone(str(tmp_path / "play.yml")) == []


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A temporary directory with a short name: ansible-core 2.21 has sockets there (108 bytes)."""
    with tempfile.TemporaryDirectory(prefix="tb-") as place:
        yield Path(place)


def test_a_secret_of_the_environment_reaches_no_file_but_the_playbook(
    tmp_path: Path, short_tmp: Path
) -> None:
    """Run in a process of its own: its environment is read from /proc as the user's would be."""
    (tmp_path / "inventory.yml").write_text(INVENTORY)
    tasks = """
    - ansible.builtin.debug:
        msg: "length {{ lookup('ansible.builtin.env', 'BMC_PASSWORD') | length }}"
    """
    (tmp_path / "play.yml").write_text(HEAD + textwrap.indent(textwrap.dedent(tasks), "    "))
    script = f"""
    import pathlib
    from trackbed import collection; collection.activate()
    from trackbed.runner import Job, Runner
    left, said = [], []
    def look(event):
        said.append(str(event.get("event_data", {{}}).get("res")))
        for path in pathlib.Path({str(short_tmp)!r}).rglob("*"):
            if path.is_file() and {SECRET!r}.encode() in path.read_bytes():
                left.append(str(path))
        return False
    outcome = Runner().run(Job({str(tmp_path / "play.yml")!r},
                               ({str(tmp_path / "inventory.yml")!r},)), look)
    print(outcome.rc, sorted(set(left)), any("length {len(SECRET)}" in one for one in said))
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "BMC_PASSWORD": SECRET, "TMPDIR": str(short_tmp)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.stdout.strip() == "0 [] True", told.stderr
    assert list(short_tmp.iterdir()) == [], "the private directory is gone"


@pytest.mark.parametrize(
    ("number", "says"), [(signal.SIGTERM, "True"), (signal.SIGINT, "True"), (signal.SIGKILL, "")]
)
def test_no_orphan_and_no_file_whatever_ends_the_command(
    tmp_path: Path, short_tmp: Path, number: int, says: str
) -> None:
    """Run as a command would be, with a journal."""
    (tmp_path / "inventory.yml").write_text(INVENTORY)
    (tmp_path / "play.yml").write_text(
        HEAD + "    - ansible.builtin.debug:\n    - ansible.builtin.command: sleep 600\n"
    )
    script = f"""
    from trackbed import collection; collection.activate()
    from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
    from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import RunInfo
    from trackbed.recorder import Recorder
    from trackbed.runner import Job, Runner
    with Journal.open({str(tmp_path / "journal.sqlite")!r}) as journal:
        recorder = Recorder(journal, journal.begin_run(RunInfo("site", "x")))
        recorder.start()
        def tell(event):
            print(event["event"], flush=True)
            return recorder.handle(event)
        outcome = Runner().run(Job({str(tmp_path / "play.yml")!r},
                                   ({str(tmp_path / "inventory.yml")!r},)), tell)
        print("interrupted", outcome.interrupted, recorder.finish())
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(short_tmp)},
    ) as command:
        assert command.stdout is not None
        started = 0
        for line in command.stdout:
            started += line.strip() == "runner_on_start"
            if started == 2:
                break
        # The handler only enqueues: what the writer has not yet taken dies with the command.
        _wait_for_a_step(tmp_path / "journal.sqlite")
        command.send_signal(number)
        rest = command.stdout.read()
    assert ("interrupted True []" in rest) == bool(says)
    assert _wait_until_gone(str(tmp_path / "play.yml")) == []
    assert _wait_until_gone(str(short_tmp)) == [], "the supervisor is gone too"
    assert [one for one in short_tmp.iterdir() if one.name.startswith("trackbed")] == []
    with Journal.open(tmp_path / "journal.sqlite", read_only=True) as journal:
        (run,) = journal.runs()
        assert run.state == "interrupted"
        assert [one.status for one in journal.steps(run.id)] == ["ok"]


def test_an_environment_survives_the_pipe() -> None:
    packed = child.pack_environment({"A": "1", "TOKEN": "t=x\n", "EMPTY": ""})
    head, _, body = packed.partition(b"\n")
    assert int(head) == len(body)
    assert child.unpack_environment(body) == {b"A": b"1", b"TOKEN": b"t=x\n", b"EMPTY": b""}
