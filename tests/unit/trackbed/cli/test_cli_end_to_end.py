"""The whole path with nothing replaced: inventory, Ansible, modules, journal, judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal

from trackbed import cli, collection

LOCAL = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "ansible_become": False,
}
# Another kernel than the node's own cannot be had here; a policy makes the verdicts certain.
ONLY_KERNEL = {"gpu_count": {"enabled": False}, "gpu_pcie_link": {"enabled": False}}


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """Two nodes that are this machine, and one that cannot be reached."""
    path = tmp_path / "site.yml"
    away = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_python_interpreter": "/x"}
    variables = {
        "trackbed_journal": str(tmp_path / "j.sqlite"),
        "trackbed_policy": ONLY_KERNEL,
        "trackbed_sku": "h100-sxm",
        "ansible_become": False,
    }
    hosts = {"n1": LOCAL, "n2": LOCAL, "away": away}
    path.write_text(json.dumps({"all": {"vars": variables, "hosts": hosts}}))
    return path


def test_validate_by_the_command_line(inventory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["validate", "-i", str(inventory), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (code, document["exit_code"], document["verdict"]) == (4, 4, "unknown")
    verdicts = {row["node"]: (row["state"], row["verdict"]) for row in document["nodes"]}
    assert verdicts == {
        "n1": ("ok", "pass"),
        "n2": ("ok", "pass"),
        "away": ("unreachable", "unknown"),
    }
    assert [one["node"] for one in document["failures"]] == ["away"]
    kernels = kernel_of(inventory, document["run"])
    assert kernels == {"n1": os.uname().release, "n2": os.uname().release}


def plain(inventory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the playbook without our command line."""
    env = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_CALLBACKS_ENABLED": "trackbed.cluster.journal",
    }
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    return subprocess.run(
        [program, "trackbed.cluster.validate", "-i", str(inventory), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )


def test_validate_by_plain_ansible_with_a_limit(
    inventory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A limit must not leave the judge out, and a level result must pass."""
    done = plain(inventory, "--limit", "n1,n2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Judge what was read" in done.stdout
    assert "failed for plugin" not in done.stdout + done.stderr
    assert cli.main(["report", "-i", str(inventory), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "level"
    assert [row["node"] for row in document["nodes"]] == ["n1", "n2"]


def test_validate_by_plain_ansible_fails_where_it_is_not_known_to_be_level(
    inventory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The playbook ends badly, and yet the journal holds the verdicts and not a failed node."""
    done = plain(inventory)
    assert done.returncode != 0
    assert "failed for plugin" not in done.stdout + done.stderr
    assert cli.main(["report", "-i", str(inventory), "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert {row["node"]: row["verdict"] for row in document["nodes"]} == {
        "away": "unknown",
        "n1": "pass",
        "n2": "pass",
    }
    assert [one["status"] for one in document["failures"]] == ["unreachable"]
    with Journal.open(inventory.with_name("j.sqlite"), read_only=True) as journal:
        assert [run.exit_code for run in journal.runs()] == [4]


def kernel_of(inventory: Path, run: str) -> dict[str, Any]:
    with Journal.open(inventory.with_name("j.sqlite"), read_only=True) as journal:
        return {
            one.node: one.document["entities"][0]["values"]["kernel_release"]
            for one in journal.evidence(run)
            if one.document["source"] == "os"
        }
