"""The verbs that ask the journal alone, with a real journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import RunInfo, Step

from trackbed import cli

Ask = Callable[..., tuple[int, dict[str, Any]]]


def finding(entity: str, verdict: str) -> Finding:
    return Finding("gpu_pcie_link", entity, verdict, "critical", f"Says {verdict} of {entity}.")


def add_run(
    journal: Journal,
    verb: str,
    steps: Sequence[Step],
    findings: Sequence[Finding] = (),
    code: int = 0,
) -> str:
    run = journal.begin_run(RunInfo(verb, f"ansible-playbook {verb}", user="u", controller="c"))
    journal.write(run, steps)
    journal.add_findings(run, findings)
    journal.end_run(run, code, "done")
    return run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A journal with a site run and two validations."""
    path = tmp_path / "j.sqlite"
    diff = [{"before_header": "a", "after_header": "vm.swappiness", "before": "60", "after": "1"}]
    with Journal.open(path) as journal:
        add_run(
            journal,
            "site",
            [
                Step("gpu-1", "Set", "changed", role="kernel_tuning", diff=diff),
                Step("gpu-2", "Set", "unreachable", message="no route"),
            ],
            code=4,
        )
        add_run(
            journal,
            "validate",
            [Step("gpu-1", "Read", "ok"), Step("gpu-2", "Read", "ok")],
            [finding("gpu-1", "pass"), finding("gpu-2", "pass")],
        )
    return path


@pytest.fixture
def ask(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run a verb on the journal with --json and return exit code and document."""
    monkeypatch.delenv("TRACKBED_INVENTORY", raising=False)
    monkeypatch.setenv("TRACKBED_LAB_DIR", str(place.parent / "labs"))

    def run(*argv: str) -> tuple[int, dict[str, Any]]:
        code = cli.main([*argv, "--json", "--journal", str(place)])
        document = json.loads(capsys.readouterr().out)
        assert document["exit_code"] == code
        return code, document

    return run


def test_report_shows_the_last_validation_again(ask: Ask) -> None:
    code, document = ask("report")
    assert (code, document["verdict"]) == (0, "level")
    assert [row["verdict"] for row in document["nodes"]] == ["pass", "pass"]
    assert document["counts"] == {"pass": 2, "warn": 0, "fail": 0, "unknown": 0, "skip": 0}


def test_report_ends_with_what_it_shows(ask: Ask, place: Path) -> None:
    with Journal.open(place) as journal:
        run = add_run(
            journal,
            "validate",
            [Step("gpu-1", "Read", "ok"), Step("gpu-2", "Read", "unreachable", message="gone")],
            [finding("gpu-1/gpu:5", "fail"), finding("gpu-2", "unknown")],
        )
        add_run(journal, "site", [Step("gpu-1", "Set", "ok")])
    code, document = ask("report")
    assert (code, document["run"], document["verdict"]) == (3, run, "not level")
    assert document["failures"][0]["message"] == "gone"
    assert [row["verdict"] for row in document["nodes"]] == ["fail", "unknown"]


def test_report_of_an_older_run_by_a_part_of_its_id(ask: Ask, place: Path) -> None:
    with Journal.open(place) as journal:
        old = journal.runs()[0].id
        add_run(journal, "validate", [Step("gpu-1", "Read", "ok")], [finding("gpu-1", "fail")])
    assert ask("report")[0] == 3
    code, document = ask("report", "--run", old[-4:])
    assert (code, document["run"]) == (0, old)


def test_report_narrows_by_limit(ask: Ask, place: Path) -> None:
    with Journal.open(place) as journal:
        found = [finding("gpu-1", "fail"), finding("gpu-2", "pass")]
        steps = [Step("gpu-1", "Read", "ok"), Step("gpu-2", "Read", "ok")]
        add_run(journal, "validate", steps, found)
    code, document = ask("report", "-i", "gpu-1,gpu-2", "--limit", "gpu-2")
    assert (code, [row["node"] for row in document["nodes"]]) == (0, ["gpu-2"])


def test_report_as_text(place: Path, capsys: pytest.CaptureFixture[str], ask: Ask) -> None:
    assert cli.main(["report", "--journal", str(place)]) == 0
    assert "level" in capsys.readouterr().out


def test_a_run_that_judged_nothing_is_no_report(ask: Ask, place: Path) -> None:
    with Journal.open(place, read_only=True) as journal:
        site = journal.runs()[1].id
    code, document = ask("report", "--run", site)
    assert code == 2
    assert "(site) judged nothing" in document["error"]["found"]


def test_a_journal_without_a_validation(tmp_path: Path, ask: Ask, place: Path) -> None:
    place.unlink()
    Journal.open(place).close()
    code, document = ask("report")
    assert (code, document["error"]["remedy"]) == (2, "run: trackbed validate")


def test_no_journal_is_said_with_its_place(ask: Ask, place: Path) -> None:
    place.unlink()
    code, document = ask("runs")
    assert code == 2
    assert str(place) in document["error"]["found"]
    assert document["error"]["remedy"]


def test_runs_are_listed_newest_first(ask: Ask) -> None:
    code, document = ask("runs")
    assert code == 0
    assert [run["verb"] for run in document["runs"]] == ["validate", "site"]
    assert [run["nodes"] for run in document["runs"]] == [2, 2]
    assert len(ask("runs", "list", "--last", "1")[1]["runs"]) == 1


def test_one_run_with_its_changes_and_failures(ask: Ask, place: Path) -> None:
    with Journal.open(place, read_only=True) as journal:
        run = next(one.id for one in journal.runs() if one.info.verb == "site")
    code, document = ask("runs", "show", run)
    assert code == 0
    found = document["run"]
    assert [row["state"] for row in found["nodes"]] == ["changed", "unreachable"]
    assert [row["setting"] for row in found["changes"]] == ["vm.swappiness"]
    assert found["failures"][0]["message"] == "no route"


@pytest.mark.parametrize(("asked", "says"), [("x", "no run 'x'"), ("2", "2 runs match '2'")])
def test_an_id_that_is_not_one(ask: Ask, asked: str, says: str) -> None:
    code, document = ask("runs", "show", asked)
    assert code == 2
    assert says in document["error"]["found"]


def test_prune_keeps_the_newest(ask: Ask) -> None:
    newest = ask("runs")[1]["runs"][0]["id"]
    code, document = ask("runs", "prune", "--keep", "1")
    assert (code, len(document["pruned"]), document["kept"]) == (0, 1, 1)
    assert [run["id"] for run in ask("runs")[1]["runs"]] == [newest]


def test_status_of_all_that_the_journal_knows(ask: Ask) -> None:
    code, document = ask("status")
    assert code == 4  # gpu-2 was not reached by the last site
    assert [row["validate"]["state"] for row in document["nodes"]] == ["pass", "pass"]
    assert [row["site"]["state"] for row in document["nodes"]] == ["changed", "unreachable"]


def test_status_has_a_row_for_a_node_that_was_never_seen(ask: Ask) -> None:
    code, document = ask("status", "-i", "gpu-1,gpu-9")
    assert code == 4
    assert [(row["node"], row["seen"] is None) for row in document["nodes"]] == [
        ("gpu-1", False),
        ("gpu-9", True),
    ]


def test_config_says_where_values_come_from(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKBED_FORKS", "7")
    code, document = ask("config")
    assert code == 0
    assert {"setting": "forks", "value": 7, "source": "TRACKBED_FORKS"} in document["settings"]


@pytest.mark.parametrize(
    "argv", [["runs"], ["status"], ["config"], ["runs", "prune", "--keep", "9"]]
)
def test_each_has_a_form_for_people(
    argv: list[str], place: Path, capsys: pytest.CaptureFixture[str], ask: Ask
) -> None:
    code = cli.main([*argv, "--journal", str(place)])
    assert code in (0, 4)
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) >= 1
    assert printed.err == ""
