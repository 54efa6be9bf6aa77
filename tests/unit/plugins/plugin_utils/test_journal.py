"""The journal keeps what was written, whatever happens to the process or the disk."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _journal_place as place
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Basis, Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_move import import_journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    DONE,
    INTERRUPTED,
    RUNNING,
    Evidence,
    JournalError,
    RunInfo,
    Step,
)

INFO = RunInfo("site", "ansible-playbook trackbed.cluster.site", ("lab",), version="0.1.0")
FINDING = Finding(
    "gpu_pcie_link", "gpu-002/gpu:5", "fail", "critical", "GPU 5 is slow.", "Gen5 x16", "Gen4 x16",
    Basis("spec", "h100-sxm"), evidence=("abc",),
)  # fmt: skip


def document(started: str = "2026-12-01T04:50:03Z", serial: str = "1654922") -> dict[str, Any]:
    ids = {"serial": serial, "pci": "0000:1b:00.0"}
    return {
        "schema": 1,
        "source": "lspci",
        "quality": "ok",
        "problems": [],
        "started": started,
        "seconds": 1.5,
        "raw": {"sha256": "x", "bytes": 3, "kept": True},
        "entities": [{"path": "gpu-001/gpu:0", "ids": ids, "values": {}}],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal.open(path) as opened:
        yield opened


def test_what_is_written_comes_back(path: Path) -> None:
    step = Step(
        "gpu-001", "Tune", "changed", role="kernel_tuning", diff=[{"before": "a", "after": "b"}]
    )
    with Journal.open(path) as journal:
        run = journal.begin_run(INFO)
        journal.write(run, [step, Evidence("gpu-001", document(), b"raw")])
        journal.add_findings(run, [FINDING])
        journal.end_run(run, 3, DONE, "not level")
    with Journal.open(path, read_only=True) as journal:
        (known,) = journal.runs()
        assert (known.id, known.state, known.exit_code, known.says) == (run, DONE, 3, "not level")
        assert known.info == INFO
        assert [(one.node, one.changed) for one in known.nodes] == [("gpu-001", 1)]
        assert journal.steps(run) == [step]
        assert journal.steps(run, "gpu-009") == []
        (evidence,) = journal.evidence(run)
        assert (evidence.document, evidence.raw) == (document(), b"raw")
        assert journal.findings(run) == [FINDING]
        assert journal.run("nothing") is None


def test_the_file_is_private(journal: Journal, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_equal_document_is_stored_once_with_its_own_time(journal: Journal, path: Path) -> None:
    for started in ("2026-12-01T04:00:00Z", "2026-12-01T05:00:00Z"):
        run = journal.begin_run(INFO)
        journal.write(run, [Evidence("gpu-001", document(started), b"raw")])
    assert journal.evidence(run)[0].document["started"] == "2026-12-01T05:00:00Z"
    blobs = sqlite3.connect(path).execute("SELECT count(*) FROM blobs").fetchone()[0]
    assert blobs == 2, "one document, one raw output"
    assert len(journal.latest_evidence()) == 1
    assert journal.latest_evidence(["gpu-002"]) == []


def test_history_follows_the_part_to_another_node(journal: Journal) -> None:
    for node in ("gpu-001", "gpu-007"):
        run = journal.begin_run(INFO)
        found = document(f"2026-12-01T0{node[-1]}:00:00Z")
        found["entities"][0]["path"] = f"{node}/gpu:0"
        journal.write(run, [Evidence(node, found)])
    assert [one.entity for one in journal.history("1654922")] == ["gpu-007/gpu:0", "gpu-001/gpu:0"]
    assert journal.history("0000:1b:00.0") == [], "an address is a place, not a part"


def test_all_records_of_a_batch_or_none(journal: Journal) -> None:
    run = journal.begin_run(INFO)
    with pytest.raises(JournalError, match="cannot be used"):
        journal.write(
            run, [Step("gpu-001", "Good", "ok"), Step("gpu-001", "Bad", "no such status")]
        )
    assert journal.steps(run) == []
    journal.write(run, [Step("gpu-001", "Good", "ok")])
    assert len(journal.steps(run)) == 1


def test_prune_keeps_the_newest_and_what_they_need(journal: Journal, path: Path) -> None:
    ids = []
    for number in range(3):
        ids.append(journal.begin_run(INFO))
        journal.write(ids[-1], [Evidence("gpu-001", document(serial=f"s{number}"), b"raw")])
    assert journal.prune(1) == [ids[1], ids[0]]
    assert [one.id for one in journal.runs()] == [ids[2]]
    assert journal.history("s0") == []
    assert journal.evidence(ids[2])[0].raw == b"raw"


def test_a_second_writer_is_told_who_writes(journal: Journal, path: Path) -> None:
    with pytest.raises(JournalError, match=f"is being written by process {os.getpid()} on"):
        place.WriterLock(path).acquire(patience=0)
    with Journal.open(path, read_only=True) as reader:
        assert reader.runs() == []


def test_a_reader_needs_a_journal(path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal") as error:
        Journal.open(path, read_only=True)
    assert "trackbed site" in error.value.remedy


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks(url)")
    other.commit()
    with pytest.raises(JournalError, match="not a journal of Trackbed"):
        Journal.open(path)
    path.write_text("not a database at all, but long enough to be looked at" * 20)
    with pytest.raises(JournalError, match="not a journal of Trackbed"):
        Journal.open(path)


def test_a_newer_journal_is_refused(path: Path) -> None:
    Journal.open(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.commit()
    with pytest.raises(JournalError, match="newer Trackbed") as error:
        Journal.open(path)
    assert "upgrade trackbed" in error.value.remedy


def test_a_network_file_system_is_refused() -> None:
    mounts = (
        "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 24 0:40 / /home/ops\\040x rw - nfs4 fs:/home rw\n"
    )
    assert place.file_system_of("/home/ops x/journal", mounts) == "nfs4"
    assert place.file_system_of("/home/other", mounts) == "ext4"
    with pytest.raises(JournalError, match=r"network file system \(nfs4\)"):
        place.refuse_network_place(Path("/home/ops x/journal"), mounts)
    assert [place.is_network(kind) for kind in (None, "xfs", "fuse.sshfs", "fuse.ntfs", "9p")] == [
        False, False, True, False, True,
    ]  # fmt: skip


def test_export_and_import_move_it(journal: Journal, path: Path, tmp_path: Path) -> None:
    run = journal.begin_run(INFO)
    copy, moved = tmp_path / "copy", tmp_path / "elsewhere" / "journal.sqlite"
    digest = journal.export(copy)
    with pytest.raises(JournalError, match="exists"):
        journal.export(copy)
    with pytest.raises(JournalError, match="not the file that was exported"):
        import_journal(copy, moved, "0" * 64)
    import_journal(copy, moved, digest)
    with Journal.open(moved, read_only=True) as other:
        assert [one.id for one in other.runs()] == [run]
    with pytest.raises(JournalError, match="exists already"):
        import_journal(copy, moved)


def _use_after_fork(journal: Journal, told: Any) -> None:
    try:
        journal.runs()
    except JournalError as error:
        told.send(str(error))


def test_no_connection_is_carried_over_a_fork(journal: Journal) -> None:
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=_use_after_fork, args=(journal, there)
    )
    child.start()
    child.join(20)
    assert here.poll(1)
    assert "forked" in here.recv()
    assert journal.runs() == []


KILLED = textwrap.dedent("""
    import sys, time
    from trackbed import collection; collection.activate()
    from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
    from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import *
    journal = Journal.open(sys.argv[1])
    run = journal.begin_run(RunInfo("site", "x"))
    for number in range(10_000_000):
        journal.write(run, [Step("gpu-001", f"task {number}", "ok")])
        print(number, flush=True)
""")


def test_a_killed_writer_leaves_a_journal_that_opens(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= 20:
                break
        with Journal.open(path, read_only=True) as reader:
            assert reader.runs()[0].state == RUNNING
        child.send_signal(signal.SIGKILL)
        printed = [int(line) for line in child.stdout.read().split()]
    last = max([20, *printed])
    with Journal.open(path, read_only=True) as reader:
        (run,) = reader.runs()
        assert run.state == INTERRUPTED
        assert "without a word" in run.says
        # Each step that was said to be written is there; at most the one in the making is more.
        assert len(reader.steps(run.id)) in (last + 1, last + 2)
    with Journal.open(path) as writer:
        writer.begin_run(INFO)
        assert [one.state for one in writer.runs()] == [RUNNING, INTERRUPTED]


KILLED_HALF_WAY = textwrap.dedent("""
    import os, signal, sys
    from trackbed import collection; collection.activate()
    from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
    from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import *
    journal = Journal.open(sys.argv[1])
    run = journal.begin_run(RunInfo("site", "x"))
    journal.write(run, [Step("gpu-001", "Good", "ok")])
    # Little memory makes SQLite write to the file before the transaction has ended.
    journal._connection.execute("PRAGMA cache_size = 5")
    def steps():
        for number in range(400):
            yield Step("gpu-001", "Lost", "ok", message=str(number) + "x" * 3000)
        os.kill(os.getpid(), signal.SIGKILL)
    journal.write(run, steps())
""")


def test_a_reader_undoes_what_a_killed_writer_left_half_done(path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED_HALF_WAY, str(path)], check=False, timeout=60)
    assert path.with_name(path.name + "-journal").stat().st_size > 0, "the journal is hot"
    with Journal.open(path, read_only=True) as reader:
        (run,) = reader.runs()
        assert [one.task for one in reader.steps(run.id)] == ["Good"]
        with pytest.raises(JournalError, match="readonly"):
            reader.begin_run(INFO)


def test_a_full_disk_is_an_error_and_loses_nothing(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = journal.begin_run(INFO)
    journal.write(run, [Step("gpu-001", "Good", "ok")])
    # SQLite's own limit gives its own error for a full disk.
    pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    big = [Step("gpu-001", "Big", "ok", message="x" * 4000 + str(n)) for n in range(200)]
    with pytest.raises(JournalError, match="full") as error:
        journal.write(run, big)
    assert "free space" in error.value.remedy
    assert [one.task for one in journal.steps(run)] == ["Good"]


def test_two_runs_of_one_second_never_share_an_id(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffixes = iter(["aaaa", "aaaa", "bbbb", "cccc"])
    monkeypatch.setattr(
        "ansible_collections.trackbed.cluster.plugins.plugin_utils._journal.secrets.token_hex",
        lambda _bytes: next(suffixes),
    )
    ids = [journal.begin_run(INFO) for _ in range(2)]
    assert len(set(ids)) == 2
    assert len(journal.runs()) == 2
