"""The readers of nccl-tests' and perftest's JSON: secrets, versions, units, hostile sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    nccl_inspector,
    nccl_ras_json,
    nccl_tests_json,
    perftest_json,
)

DATA = Path(__file__).parents[3] / "data" / "readers"


@pytest.mark.parametrize("path", sorted((DATA / "nccl-tests-json").glob("*.[jl]*")))
def test_nothing_of_the_environment_is_kept(path: Path) -> None:
    data = path.read_bytes()
    assert b"SECRET_TOKEN" in data
    assert "not-to-be-kept" not in json.dumps(nccl_tests_json.read(data).as_dict())


@pytest.mark.parametrize("end", range(300, 1300, 37))
def test_nothing_of_the_environment_is_kept_of_a_cut_file(end: int) -> None:
    data = (DATA / "nccl-tests-json" / "two-nodes.json").read_bytes()[:end]
    told = json.dumps(nccl_tests_json.read(data).as_dict())
    assert "not-to-be-kept" not in told
    assert "SECRET_TOKEN" not in told


@pytest.mark.parametrize(
    ("code", "version"),
    [(22907, "2.29.7"), (21903, "2.19.3"), (2708, "2.7.8"), (12, None), (None, None)],
)
def test_version_of_nccl(code: int | None, version: str | None) -> None:
    body = {"version": 1, "nccl_version": code, "config": {}, "results": []}
    reading = nccl_tests_json.read(json.dumps(body))
    assert reading.entities[1].values["nccl_version"] == version


def _bandwidth(average: float, rate: float, size: int = 65536) -> float | None:
    body = {"test_info": {"test": "Send_BW_Test"}, "results": {"MsgSize": size}}
    body["results"].update({"BW_average": average, "MsgRate": rate})
    row = perftest_json.read(json.dumps(body)).entities[2]
    return row.values["bw_average_gbit_per_s"]


def test_the_unit_of_a_bandwidth_follows_from_the_message_rate() -> None:
    rate = 0.372529  # 65536 B x 0.372529 MHz = 195.3 Gbit/s = 23283 MB/s
    assert _bandwidth(195.31, rate) == pytest.approx(195.31)
    assert _bandwidth(23283.06, rate) == pytest.approx(195.31, rel=1e-3)
    assert _bandwidth(2000.0, rate) is None  # neither of them
    assert _bandwidth(195.31, 0.0) is None
    assert _bandwidth(0.0, 0.0) == 0.0


HOSTILE = [
    '{"version":1,"start_time":"",' * 20_000,
    '{"test_info":{' * 20_000,
    "{" * 300_000,
    '"' * 300_000,
    '{"header"\n' * 30_000,
    "} " * 300_000 + '{"version":',
]


@pytest.mark.parametrize("reader", [nccl_tests_json, perftest_json, nccl_ras_json, nccl_inspector])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_sizes_are_read(reader: object, text: str) -> None:
    # A quadratic reader takes minutes for these, a linear one a second.
    reading = reader.read(text)  # type: ignore[attr-defined]
    assert reading.quality in {"unreadable", "partial", "error"}
