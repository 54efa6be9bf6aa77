"""What dead labs leave with podman's name server goes; what is others' stays."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from trackbed.lab import nameserver


class Server:
    """A directory of aardvark-dns with a process that keeps it, and the signals it got."""

    def __init__(self, top: Path, *names: str, comm: str = "aardvark-dns") -> None:
        self.place = top / "aardvark-dns"
        self.place.mkdir()
        for name in names:
            (self.place / name).write_text("10.213.9.1\n", encoding="ascii")
        (self.place / "aardvark.pid").write_text("4711\n", encoding="ascii")
        self.proc = top / "proc"
        (self.proc / "4711").mkdir(parents=True)
        (self.proc / "4711/comm").write_text(f"{comm}\n", encoding="ascii")
        self.signals: list[tuple[int, int]] = []

    def forget(self, *networks: str) -> list[str]:
        return nameserver.forget(self.place, networks, proc=self.proc, kill=self.kill)

    def kill(self, pid: int, number: int) -> None:
        self.signals.append((pid, number))
        if self.left() == ["aardvark.pid"]:
            (self.proc / "4711/comm").unlink()

    def left(self) -> list[str]:
        return sorted(path.name for path in self.place.iterdir())


def test_a_dead_lab_goes_and_the_server_reads_again(tmp_path):
    server = Server(tmp_path, "trackbed-dead", "trackbed-alive", "podman1")
    assert server.forget("podman", "podman1", "trackbed-alive") == ["trackbed-dead"]
    assert server.left() == ["aardvark.pid", "podman1", "trackbed-alive"]
    assert server.signals == [(4711, signal.SIGHUP)]


def test_others_are_never_touched_and_nothing_is_said_twice(tmp_path):
    server = Server(tmp_path, "somebody-elses")
    assert server.forget() == []
    assert server.left() == ["aardvark.pid", "somebody-elses"]
    assert server.signals == []


def test_the_last_lab_is_waited_for(tmp_path):
    server = Server(tmp_path, "trackbed-dead")
    assert server.forget("podman") == ["trackbed-dead"]
    assert server.signals == [(4711, signal.SIGHUP)]
    assert not (server.proc / "4711/comm").exists()


def test_a_server_that_does_not_end_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(nameserver, "_SECONDS", 0.1)
    server = Server(tmp_path, "trackbed-dead")
    monkeypatch.setattr(server, "kill", lambda pid, number: server.signals.append((pid, number)))
    assert server.forget() == ["trackbed-dead"]
    assert server.signals == [(4711, signal.SIGHUP)]


def test_a_process_that_took_over_the_number_gets_no_signal(tmp_path):
    server = Server(tmp_path, "trackbed-dead", comm="postgres")
    assert server.forget() == ["trackbed-dead"]
    assert server.signals == []


@pytest.mark.parametrize("text", ["", "no number", "99999"])
def test_without_a_server_the_file_goes_all_the_same(tmp_path, text):
    server = Server(tmp_path, "trackbed-dead")
    (server.place / "aardvark.pid").write_text(text, encoding="ascii")
    assert server.forget() == ["trackbed-dead"]
    assert server.signals == []


def test_a_server_that_ended_in_between_is_no_error(tmp_path, monkeypatch):
    server = Server(tmp_path, "trackbed-dead")

    def gone(pid: int, number: int) -> None:
        (server.proc / "4711/comm").unlink()
        raise ProcessLookupError

    monkeypatch.setattr(server, "kill", gone)
    assert server.forget() == ["trackbed-dead"]


def test_a_host_without_podman_has_nothing_to_forget(tmp_path):
    assert nameserver.forget(tmp_path / "none", []) == []


def test_each_user_has_a_place_of_his_own():
    assert nameserver.directory({}, 0) == Path("/run/containers/networks/aardvark-dns")
    environ = {"XDG_RUNTIME_DIR": "/run/user/1000"}
    own = Path("/run/user/1000/containers/networks/aardvark-dns")
    assert nameserver.directory(environ, 1000) == own
    assert nameserver.directory({}, 1000) == own
