"""The verbs that run playbooks: a real journal and inventory, a runner that plays results."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal

from trackbed import cli
from trackbed.runner import Event, Job, RunOutcome

# What the judge needs of every node: all GPUs there, links as built, and what peers must share.
GOOD = {"pcie_gen": 5, "pcie_max_gen": 5, "pcie_width": 16, "pcie_max_width": 16}


def documents(node: str, quality: str = "ok", **gpu: Any) -> list[dict[str, Any]]:
    """The evidence of an H100 node; `gpu` changes its GPU 5."""
    base = {"schema": 1, "tool": {"name": "t", "version": "1"}, "problems": [], "raw": None}
    base |= {"quality": quality, "started": "2026-12-01T00:00:00Z", "seconds": 0.1}
    gpus = [
        {"path": f"{node}/gpu:{i}", "ids": {}, "values": {**GOOD, **(gpu if i == 5 else {})}}
        for i in range(8)
    ]
    whole = {"path": node, "ids": {}, "values": {"gpu_count": 8}}
    alike = {
        "os": {"kernel_release": "6.1.0", "os_pretty_name": "Debian"},
        "dmidecode": {
            "bios_version": "1.6",
            "dimm_count": 32,
            "memory_total_mib": 2097152,
            "dimm_speeds_mt_s": [4800],
        },
        "lscpu": {"cpu_model": "a CPU", "threads_per_core": 2, "numa_node_count": 2},
    }
    return [
        {**base, "source": "lspci", "entities": [whole, *gpus]},
        *(
            {**base, "source": source, "entities": [{"path": node, "ids": {}, "values": values}]}
            for source, values in alike.items()
        ),
        {**base, "source": "proc-driver-nvidia-version", "quality": "absent", "entities": []},
    ]


class Player:
    """Plays results per playbook and node instead of running Ansible."""

    def __init__(self, **results: dict[str, dict[str, Any]]) -> None:
        """`results`: playbook (site, facts) -> node -> result, with `_status` for its kind."""
        self.results = results
        self.jobs: list[Job] = []
        self.outcome = RunOutcome(0, "successful")
        self.before: Callable[[], None] = lambda: None

    def run(
        self,
        job: Job,
        on_event: Callable[[Event], bool],
        must_stop: Callable[[], bool] = lambda: False,
    ) -> RunOutcome:
        self.jobs.append(job)
        self.before()
        name = job.playbook.rpartition(".")[2]
        on_event({"event": "playbook_on_task_start", "event_data": {"task": f"Do {name}"}})
        for node, result in self.results.get(name, {}).items():
            status = result.get("_status", "ok")
            data = {"host": node, "task": f"Do {name}", "role": "r", "res": {"x": 1, **result}}
            on_event({"event": f"runner_on_{status}", "event_data": data})
        return self.outcome


def read(**gpu: Any) -> dict[str, dict[str, Any]]:
    """Facts of two nodes; `gpu` changes one GPU of gpu-2."""
    return {
        "gpu-1": {"trackbed_evidence": documents("gpu-1")},
        "gpu-2": {"trackbed_evidence": documents("gpu-2", **gpu)},
    }


OK = {"changed": False}
CHANGED = {
    "changed": True,
    "diff": [{"before_header": "swap", "after_header": "vm.swappiness", "before": "60"}
    | {"after": "1"}],
}  # fmt: skip
FAILED = {"_status": "failed", "msg": "no space left"}
UNREACHABLE = {"_status": "unreachable", "msg": "no route"}
SITE = {"gpu-1": OK, "gpu-2": CHANGED}


class Shell:
    """Runs the command line in one place and reads its JSON."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.inventory = place / "site.yml"
        self.journal = place / "j.sqlite"
        self.capsys = capsys
        names = {name: {"trackbed_sku": "h100-sxm"} for name in ("gpu-1", "gpu-2")}
        variables = {"trackbed_journal": str(self.journal)}
        self.inventory.write_text(json.dumps({"all": {"vars": variables, "hosts": names}}))

    def __call__(self, player: Player, *argv: str) -> tuple[int, dict[str, Any]]:
        code = cli.main([*argv, "-i", str(self.inventory), "--json"], player)
        document = json.loads(self.capsys.readouterr().out)
        assert document["exit_code"] == code
        return code, document

    def text(self, player: Player, *argv: str) -> tuple[int, str, str]:
        code = cli.main([*argv, "-i", str(self.inventory)], player)
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def runs(self) -> list[Any]:
        with Journal.open(self.journal, read_only=True) as journal:
            return journal.runs()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


# -- site --------------------------------------------------------------------------


def test_site_changes_and_says_what(shell: Shell) -> None:
    player = Player(site=SITE)
    code, document = shell(player, "site")
    assert code == 0
    assert [row["state"] for row in document["nodes"]] == ["ok", "changed"]
    assert document["changes"] == [
        {"node": "gpu-2", "role": "r", "task": "Do site", "setting": "vm.swappiness"}
        | {"before": "60", "after": "1"}
    ]
    (run,) = shell.runs()
    assert (run.id, run.state, run.exit_code) == (document["run"], "done", 0)
    assert run.info.command.startswith("ansible-playbook trackbed.cluster.site -i ")
    assert player.jobs[0].playbook == "trackbed.cluster.site"


@pytest.mark.parametrize(
    ("results", "code", "state"),
    [
        ({"gpu-1": OK, "gpu-2": FAILED}, 1, "failed"),
        ({"gpu-1": OK, "gpu-2": UNREACHABLE}, 4, "done"),
        ({"gpu-1": UNREACHABLE, "gpu-2": FAILED}, 1, "failed"),
        ({"gpu-1": OK}, 4, "done"),
    ],
)
def test_the_other_nodes_go_on(
    shell: Shell, results: dict[str, Any], code: int, state: str
) -> None:
    found, document = shell(Player(site=results), "site")
    assert found == code
    assert len(document["nodes"]) == 2
    (run,) = shell.runs()
    assert (run.state, run.exit_code) == (state, code)


def test_options_reach_the_job(shell: Shell, tmp_path: Path) -> None:
    password = tmp_path / "pw"
    password.write_text("hunter2")
    player = Player(site=SITE)
    code, document = shell(
        player,
        *("site", "--check", "--limit", "gpu-*", "--tags", "kernel_tuning", "--forks", "3"),
        *("-e", "a=1", "--allow", "reboot", "--vault-password-file", str(password)),
    )
    assert code == 0, document
    (job,) = player.jobs
    assert (job.check, job.diff, job.limit, job.tags, job.forks) == (
        *(True, True, "gpu-*", ("kernel_tuning",), 3),
    )
    assert job.options == (
        *("--vault-password-file", str(password)),
        *("-e", "a=1", "-e", '{"trackbed_allow": ["reboot"]}'),
    )
    (run,) = shell.runs()
    assert run.info.check_mode
    assert "hunter2" not in shell.journal.read_bytes().decode("latin-1")


def test_a_check_says_what_would_change(shell: Shell) -> None:
    code, out, err = shell.text(Player(site=SITE), "site", "--check")
    assert code == 0
    assert "1 setting would change on 1 node" in " ".join(out.split())
    assert "vm.swappiness: 60 -> 1" in out
    assert err == "site: Do site: 1 ok, 1 changed\n"


def test_settings_are_listed_only_where_asked_for(shell: Shell) -> None:
    assert "vm.swappiness" not in shell.text(Player(site=SITE), "site")[1]
    assert "vm.swappiness: 60 -> 1" in shell.text(Player(site=SITE), "site", "--diff")[1]


# -- facts -------------------------------------------------------------------------


def test_facts_shows_documents(shell: Shell) -> None:
    player = Player(facts=read())
    code, document = shell(player, "facts")
    assert code == 0
    assert [(one["node"], one["source"]) for one in document["documents"]] == [
        (node, source)
        for node in ("gpu-1", "gpu-2")
        for source in ("dmidecode", "lscpu", "lspci", "os", "proc-driver-nvidia-version")
    ]
    assert not player.jobs[0].check


def test_facts_that_could_not_be_read_are_partial(shell: Shell) -> None:
    results = read()
    results["gpu-2"]["trackbed_evidence"] = documents("gpu-2", "timeout")
    code, document = shell(Player(facts=results), "facts")
    assert code == 4
    assert document["exit_code"] == shell.runs()[0].exit_code == 4


# -- validate ----------------------------------------------------------------------


def test_a_level_cluster(shell: Shell) -> None:
    code, document = shell(Player(facts=read()), "validate")
    assert (code, document["verdict"]) == (0, "level")
    assert {row["verdict"] for row in document["nodes"]} == {"pass"}
    with Journal.open(shell.journal, read_only=True) as journal:
        stored = [one.as_dict() for one in journal.findings(document["run"])]
    assert json.loads(json.dumps(stored)) == document["findings"]


def test_one_link_at_gen4_is_named(shell: Shell) -> None:
    code, document = shell(Player(facts=read(pcie_gen=4)), "validate")
    assert (code, document["verdict"]) == (3, "not level")
    (finding,) = [one for one in document["findings"] if one["verdict"] == "fail"]
    assert (finding["entity"], finding["expected"], finding["actual"]) == (
        *("gpu-2/gpu:5", "Gen5 x16", "Gen4 x16"),
    )
    assert shell.runs()[0].exit_code == 3


def test_a_node_that_is_not_reached_is_unknown_and_a_defect_outweighs_it(shell: Shell) -> None:
    results = {**read(), "gpu-2": UNREACHABLE}
    code, document = shell(Player(facts=results), "validate")
    assert (code, document["verdict"], document["counts"]["fail"]) == (4, "unknown", 0)
    assert document["nodes"][1]["verdict"] == "unknown"
    results["gpu-1"] = {"trackbed_evidence": documents("gpu-1", pcie_gen=4)}
    assert shell(Player(facts=results), "validate")[0] == 3


def test_a_reader_that_fails_outweighs_findings(shell: Shell) -> None:
    results = {**read(pcie_gen=4), "gpu-1": FAILED}
    code, document = shell(Player(facts=results), "validate")
    assert (code, document["verdict"]) == (1, "not level")


def test_the_report_is_shown_again(shell: Shell) -> None:
    code, out, _ = shell.text(Player(facts=read(pcie_gen=4)), "validate")
    again = shell.text(Player(), "report")
    assert (code, out) == (again[0], again[1])
    assert "gpu-2" in out


def test_a_policy_of_the_site_is_heard_and_a_wrong_one_refused_before_any_run(
    shell: Shell,
) -> None:
    site = json.loads(shell.inventory.read_text())
    site["all"]["vars"]["trackbed_policy"] = {"gpu_pcie_link": {"enabled": False}}
    shell.inventory.write_text(json.dumps(site))
    assert shell(Player(facts=read(pcie_gen=4)), "validate")[0] == 0
    site["all"]["vars"]["trackbed_policy"] = {"gpu_pcie_lnk": {"enabled": False}}
    shell.inventory.write_text(json.dumps(site))
    player = Player(facts=read())
    code, document = shell(player, "validate")
    assert (code, player.jobs) == (2, [])
    assert "gpu_pcie_lnk" in document["error"]["found"]


# -- up ----------------------------------------------------------------------------


def test_up_is_site_and_validate(shell: Shell) -> None:
    player = Player(site=SITE, facts=read(pcie_gen=4))
    code, document = shell(player, "up", "--check")
    assert (code, document["site"]["exit_code"], document["validate"]["exit_code"]) == (3, 0, 3)
    assert [(job.playbook.rpartition(".")[2], job.check) for job in player.jobs] == [
        *(("site", True), ("facts", False)),
    ]
    assert [run.info.verb for run in shell.runs()] == ["validate", "site"]


def test_up_does_not_judge_what_was_half_applied(shell: Shell) -> None:
    player = Player(site={"gpu-1": OK, "gpu-2": FAILED}, facts=read())
    code, document = shell(player, "up")
    assert (code, document["validate"], len(player.jobs)) == (1, None, 1)


def test_up_judges_the_others_where_one_is_unreachable(shell: Shell) -> None:
    player = Player(site={"gpu-1": OK, "gpu-2": UNREACHABLE}, facts=read())
    code, document = shell(player, "up")
    assert (code, document["validate"]["exit_code"]) == (4, 0)


# -- what goes wrong ---------------------------------------------------------------


def test_interrupted_is_in_the_journal(shell: Shell) -> None:
    player = Player(site={"gpu-1": OK})
    player.outcome = RunOutcome(254, "canceled", interrupted=True)
    code, document = shell(player, "up")
    assert (code, document["error"]["found"]) == (130, "interrupted")
    (run,) = shell.runs()
    assert (run.state, run.exit_code, run.says) == ("interrupted", 130, "interrupted by the user")
    assert [tally.node for tally in run.nodes] == ["gpu-1"]


def test_a_playbook_that_fails_on_no_node(shell: Shell) -> None:
    player = Player()
    player.outcome = RunOutcome(4, "failed", output="ERROR! no role kernel_tuning")
    code, document = shell(player, "site")
    assert code == 1
    assert "ERROR! no role kernel_tuning" in document["error"]["found"]
    (run,) = shell.runs()
    assert (run.state, run.exit_code) == ("failed", 1)
    assert "no role" in run.says


def test_a_lost_result_fails_the_run(shell: Shell) -> None:
    class Losing(Player):
        def run(self, job: Job, on_event: Callable[[Event], bool], must_stop: Any) -> RunOutcome:
            on_event({"event": "runner_on_ok", "event_data": {"host": "gpu-1", "res": {}}})
            return self.outcome

    code, document = shell(Losing(), "validate")
    assert code == 1
    assert "too large and is lost" in document["error"]["found"]
    assert shell.runs()[0].state == "failed"


def test_a_journal_that_cannot_be_written_during_the_run_fails_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "write", full)
    code, document = shell(Player(site=SITE), "site")
    assert code == 1
    assert "No space left on device" in document["error"]["found"]
    assert "full disk" in document["error"]["remedy"]


def test_a_second_writer_is_refused_before_anything_is_touched(shell: Shell) -> None:
    player = Player(site=SITE)
    with Journal.open(shell.journal):
        code, document = shell(player, "site")
    assert (code, player.jobs) == (2, [])
    assert "being written" in document["error"]["found"]


def test_a_defect_of_ours_is_a_document_too(shell: Shell) -> None:
    player = Player(site=SITE)

    def broken() -> None:
        raise ZeroDivisionError("oops")

    player.before = broken
    code, document = shell(player, "site")
    assert (code, document["error"]["found"]) == (1, "unexpected ZeroDivisionError: oops")
    assert shell.runs()[0].state == "failed"


@pytest.mark.parametrize("verb", ["site", "up", "validate", "facts"])
def test_show_runs_nothing(shell: Shell, verb: str) -> None:
    player = Player()
    code, document = shell(player, verb, "--show", "--limit", "gpu-1")
    assert (code, player.jobs, shell.journal.exists()) == (0, [], False)
    assert document["command"][:2] == ["ansible-playbook", f"trackbed.cluster.{verb}"]
    code, out, _ = shell.text(player, verb, "--show")
    assert "ANSIBLE_CALLBACKS_ENABLED=trackbed.cluster.journal" in shlex.split(out)


def test_a_limit_that_matches_nothing(shell: Shell) -> None:
    player = Player()
    code, document = shell(player, "site", "--limit", "nobody")
    assert (code, player.jobs) == (2, [])
    assert "matches no node" in document["error"]["found"]


def test_wrong_arguments_are_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["site", "--nonsense", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 2
    assert "--nonsense" in document["error"]["found"]


def test_json_behind_a_double_dash_is_for_another_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["site", "--nonsense", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_details_name_the_run_and_the_journal(shell: Shell) -> None:
    err = shell.text(Player(facts=read()), "facts", "-vv")[2]
    assert f"facts: run {shell.runs()[0].id} in {shell.journal}" in err
