"""The module itself: its options, what it returns, and a node on which things go wrong."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.trackbed.cluster.plugins.module_utils import _command, _evidence, _sources
from ansible_collections.trackbed.cluster.plugins.modules import node_facts_info

DATA = Path(__file__).parents[3] / "data" / "readers" / "lspci"


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where tools are found."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(_command, "EXTRA_PATH", ())
    return tmp_path / "bin"


def lspci_that(bin_dir: Path, script: str) -> None:
    path = bin_dir / "lspci"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    with patch_module_args(options), pytest.raises(SystemExit):
        node_facts_info.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def pci(result: dict[str, Any]) -> dict[str, Any]:
    assert result["changed"] is False
    (document,) = result["trackbed_evidence"]
    assert document["source"] == "lspci"
    return dict(document)


def test_a_good_node(bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing = DATA / "gpu-gen4.txt"
    lspci_that(
        bin_dir,
        f'[ "$*" = "-D -nn -vvv" ] && exec /bin/cat {listing}; echo "lspci version 3.9.0"',
    )
    document = pci(run(capsys, node="gpu-002", sources=["pci"]))
    assert (document["quality"], document["problems"]) == ("ok", [])
    assert document["tool"] == {"name": "lspci", "version": "3.9.0"}
    entities = {one["path"]: one for one in document["entities"]}
    assert entities["gpu-002"]["values"]["gpu_count"] == 8
    slow = entities["gpu-002/gpu:5"]
    assert (slow["values"]["pcie_gen"], slow["values"]["pcie_max_gen"]) == (4, 5)
    assert slow["notes"] == {"pcie_speed_gt_s": "downgraded"}
    assert slow["ids"]["pci"] == "0000:c3:00.0"
    assert _evidence.raw_text(document["raw"]) == listing.read_bytes()


def test_raw_is_left_out_on_request(bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lspci_that(bin_dir, f"exec /bin/cat {DATA / 'gpu-x8.txt'}")
    document = pci(run(capsys, node="n", sources=["pci"], keep_raw=False))
    assert document["raw"] is None
    assert document["entities"]


def test_no_lspci(bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = pci(run(capsys, node="n", sources=["pci"]))
    assert (document["quality"], document["entities"]) == ("absent", [])
    assert "install the package pciutils" in document["problems"][0]["says"]
    assert str(bin_dir) in document["problems"][0]["says"]


def test_lspci_hangs(bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lspci_that(bin_dir, "exec /bin/sleep 300")
    document = pci(run(capsys, node="n", sources=["pci"], timeout_s=1))
    assert (document["quality"], document["problems"][0]["code"]) == ("timeout", "timed_out")
    assert document["seconds"] >= 1


def test_lspci_fails(bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lspci_that(bin_dir, "echo 'lspci: Cannot open /sys/bus/pci/devices' >&2; exit 1")
    document = pci(run(capsys, node="n", sources=["pci"]))
    assert document["quality"] == "error"
    assert "Cannot open" in document["problems"][0]["verbatim"]


def test_one_source_that_hangs_does_not_lose_the_other(
    bin_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lspci_that(bin_dir, "exec /bin/sleep 300")
    result = run(capsys, node="n", sources=["os", "pci"], timeout_s=0.5)
    assert [one["source"] for one in result["trackbed_evidence"]] == ["os", "lspci"]
    first = result["trackbed_evidence"][0]
    assert first["entities"][0]["path"] == "n"
    assert first["entities"][0]["values"]["kernel_release"]


def test_a_source_named_twice_is_asked_once(
    bin_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(capsys, node="n", sources=["os", "os"])
    assert len(result["trackbed_evidence"]) == 1


def test_check_mode_is_the_same(bin_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lspci_that(bin_dir, f"exec /bin/cat {DATA / 'gpu-x8.txt'}")
    real = pci(run(capsys, node="n", sources=["pci"]))
    check = pci(run(capsys, node="n", sources=["pci"], _ansible_check_mode=True))
    assert check["entities"] == real["entities"]


def test_a_result_that_would_be_too_large_is_bounded(
    bin_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{n >> 8:04x}:{n & 255:02x}:00.0 0302: 10de:2330 (rev a1)" for n in range(4000)]
    (tmp_path / "list").write_text("\n".join(lines) + "\n")
    lspci_that(bin_dir, f"exec /bin/cat {tmp_path / 'list'}")
    document = pci(run(capsys, node="n", sources=["pci"]))
    assert len(json.dumps(document)) <= _evidence.RESULT_LIMIT
    assert document["quality"] == "partial"
    assert document["problems"][-1]["code"] == "limited"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "node"),
        ({"node": "n", "sources": ["gpus"]}, "os, packages, pci"),
        ({"node": "n", "timeout_s": 0}, "above 0"),
        ({"node": "n", "timeout_s": 4000}, "at most 3600"),
    ],
)
def test_wrong_options(
    options: dict[str, Any], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(capsys, **options)
    assert result["failed"] is True
    assert says in result["msg"]


def test_documentation_names_every_source() -> None:
    options = yaml.safe_load(node_facts_info.DOCUMENTATION)["options"]
    assert options["sources"]["choices"] == sorted(_sources.SOURCES)
    assert options["sources"]["default"] == _sources.usual()


def test_return_sample_is_of_the_form_that_is_returned(
    bin_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lspci_that(bin_dir, f"exec /bin/cat {DATA / 'gpu-x8.txt'}")
    document = pci(run(capsys, node="n", sources=["pci"]))
    documented = yaml.safe_load(node_facts_info.RETURN)["trackbed_evidence"]["contains"]
    assert set(documented) == set(document)
