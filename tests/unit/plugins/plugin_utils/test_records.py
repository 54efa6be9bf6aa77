"""One result becomes a step and its evidence; secrets and nonsense do not get through."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _evidence
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _records
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    Evidence,
    RunInfo,
    Step,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def _document(raw: bytes | None = b"lspci says") -> dict[str, Any]:
    reading = Reading("lspci", entities=[Entity("gpu:0", {"pci": "0000:1b:00.0"}, {"pcie_gen": 5})])
    return _evidence.document(reading, "gpu-001", "2026-12-01T04:50:03Z", 1.5, raw)


def _step(status: str, result: dict[str, Any], **more: Any) -> Step:
    step = _records.records_from_result("gpu-001", status, result, task="T", **more)[0]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("status", "result", "kind", "message"),
    [
        ("ok", {"changed": False}, "ok", ""),
        ("ok", {"changed": True, "msg": "done"}, "changed", "done"),
        ("failed", {"msg": "no", "stderr": "E: held"}, "failed", "no\nE: held"),
        ("failed", {"results": [{"failed": True, "item": "a", "msg": "b"}]}, "failed", "a: b"),
        ("unreachable", {"msg": "timed out"}, "unreachable", "timed out"),
        ("skipped", {"skip_reason": "not wanted"}, "skipped", "not wanted"),
        ("strange", {"msg": "x"}, "failed", "x"),
    ],
)  # fmt: skip
def test_status_and_message(status: str, result: dict[str, Any], kind: str, message: str) -> None:
    step = _step(status, result)
    assert (step.status, step.message) == (kind, message)


def test_where_and_ignored_are_kept() -> None:
    step = _step("failed", {}, ignored=True, where={"role": "r", "play": None, "started": "s"})
    assert (step.ignored, step.role, step.play, step.started) == (True, "r", "", "s")


def test_evidence_comes_with_its_raw_output_apart() -> None:
    _, evidence = _records.records_from_result(
        "gpu-001", "ok", {"trackbed_evidence": [_document()]}
    )
    assert isinstance(evidence, Evidence)
    assert evidence.raw == b"lspci says"
    assert evidence.document["raw"]["kept"] is True
    assert "zlib_b64" not in evidence.document["raw"]
    assert evidence.document["entities"][0]["values"] == {"pcie_gen": 5}


def test_raw_output_that_was_dropped_says_so() -> None:
    (document,) = _evidence.bounded([_document(bytes(range(256)) * 4000)], limit=2000)
    _, evidence = _records.records_from_result("gpu-001", "ok", {"trackbed_evidence": [document]})
    assert isinstance(evidence, Evidence)
    assert evidence.raw is None
    assert evidence.document["raw"]["kept"] is False


@pytest.mark.parametrize(
    "broken",
    [
        "text",
        [None],
        [{"schema": 2}],
        [{"schema": 1, "source": "lspci"}],
        [{"schema": 1, "source": None, "entities": []}],
        [{"schema": 1, "source": "lspci", "entities": [], "raw": "text"}],
        [{"schema": 1, "source": "lspci", "entities": [], "seconds": 1e300 * 1e300}],
        [{"schema": 1, "source": "lspci", "entities": [], "seconds": 10**30}],
        [{"schema": 1, "source": "lspci", "entities": [], "problems": "none"}],
        [{"schema": 1, "source": "lspci", "entities": [object()], "raw": None}],
        [{"schema": 1, "source": "lspci", "entities": [{"path": 3}]}],
        [{"schema": 1, "source": "lspci", "entities": [{"path": "n", "ids": {"serial": [1]}}]}],
        [{"schema": 1, "source": "lspci", "entities": [{"path": "n", "ids": "x"}]}],
        [{"schema": 1, "source": "lspci", "entities": [{"path": "n", "values": [1]}]}],
        [{"schema": 1, "source": "lspci", "entities": [], "x": {(1, 2): 3}}],
    ],
)
def test_malformed_evidence_is_said_to_be_so(broken: Any) -> None:
    _, evidence = _records.records_from_result("gpu-001", "ok", {"trackbed_evidence": broken})
    assert isinstance(evidence, Evidence)
    assert evidence.document["quality"] == "unreadable"
    assert "cannot be used" in evidence.document["problems"][0]["says"]


def test_what_a_loop_observed_is_kept() -> None:
    result = {"results": [{"trackbed_evidence": [_document()]}, {"failed": True}, None]}
    records = _records.records_from_result("gpu-001", "ok", result)
    assert [type(one) for one in records] == [Step, Evidence]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"zlib_b64": "!!"}, "cannot be unpacked"),
        ({"zlib_b64": 3}, "cannot be unpacked"),
        ({"zlib_b64": "AAAA"}, "cannot be unpacked"),
        ({"sha256": "0" * 64}, "not the one"),
    ],
)
def test_raw_output_that_is_not_what_it_says_is_left_out(part: dict[str, Any], says: str) -> None:
    document = _document()
    document["raw"].update(part)
    _, evidence = _records.records_from_result("gpu-001", "ok", {"trackbed_evidence": [document]})
    assert isinstance(evidence, Evidence)
    assert (evidence.raw, evidence.document["raw"]["kept"]) == (None, False)
    assert evidence.document["quality"] == "partial"
    assert says in evidence.document["problems"][-1]["says"]
    assert evidence.document["entities"], "the reading itself stays"


def test_a_small_text_that_unpacks_to_a_huge_one_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_records, "RAW_LIMIT", 1000)
    _, evidence = _records.records_from_result(
        "gpu-001", "ok", {"trackbed_evidence": [_document(b"x" * 1001)]}
    )
    assert isinstance(evidence, Evidence)
    assert "more than 1000 bytes" in evidence.document["problems"][-1]["says"]


def test_text_that_is_no_utf8_can_be_stored() -> None:
    step = _step("failed", {"msg": "caf\udce9", "diff": {"after": "\udce9"}})
    assert step.message == "caf?"
    assert step.diff == [{"after": "?"}]


@pytest.mark.parametrize(
    "result",
    [
        {"msg": "login with password=hunter22 refused"},
        {"msg": "BMC_TOKEN: hunter22"},
        {"msg": "password='very hunter22'"},
        {"msg": "GET https://admin:hunter22@bmc-001/redfish failed"},
        {"msg": "Authorization: Bearer hunter22hunter22"},
        {"msg": "-----BEGIN RSA PRIVATE KEY-----\nhunter22\n-----END RSA PRIVATE KEY-----"},
        {"msg": "bad", "stderr": '{"ipmi_passwd": "hunter22"}'},
        {"diff": {"before": "", "after": "api_key = hunter22\n"}},
        {"diff": [{"after": {"become_pass": "hunter22", "nested": [{"secret": "hunter22"}]}}]},
        {"_ansible_no_log": True, "msg": "hunter22", "diff": {"after": "hunter22"}},
        {"censored": "the output has been hidden", "msg": "hunter22"},
    ],
)
def test_secrets_do_not_get_through(result: dict[str, Any]) -> None:
    step = _step("failed", result)
    assert "hunter22" not in step.message
    assert "hunter22" not in json.dumps(step.diff)


def test_words_that_only_look_like_secrets_stay() -> None:
    kept = {"passthrough": "vfio", "compass": "north", "bypass_mode": "off", "pass": ""}
    assert _records.without_secrets(kept) == kept


def test_sizes_are_bounded() -> None:
    step = _step("failed", {"msg": "x" * 10_000, "diff": {"after": "y" * 300_000}})
    assert len(step.message) == _records.MESSAGE_LIMIT
    assert step.diff is not None
    assert "too many to keep" in step.diff[0]["prepared"]


# With half a surrogate now and then: what Ansible makes of bytes that are no UTF-8.
_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=9), one, max_size=4),
    max_leaves=12,
)
_DOCUMENTS = st.fixed_dictionaries(
    {"schema": st.just(1), "source": st.text(max_size=5), "entities": st.lists(_JSON, max_size=3)},
    optional={"seconds": _JSON, "started": _JSON, "quality": _JSON, "raw": _JSON, "tool": _JSON},
)
_RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "msg": _JSON,
        "diff": _JSON,
        "results": _JSON,
        "changed": _JSON,
        "trackbed_evidence": _JSON | st.lists(_DOCUMENTS, max_size=2),
    },
)


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journal]:
    with Journal.open(tmp_path_factory.mktemp("records") / "journal.sqlite") as opened:
        # Only that everything can be stored is of interest here, not that it survives.
        opened._connection.execute("PRAGMA synchronous = OFF")
        yield opened


def _text(steps: Any) -> str:
    """As text, because one NaN is not another."""
    return json.dumps([dataclasses.asdict(one) for one in steps], sort_keys=True)


@given(_RESULTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_result_is_an_exception_and_all_can_be_stored(
    journal: Journal, result: dict[str, Any]
) -> None:
    records = _records.records_from_result("gpu-001", "failed", result)
    run = journal.begin_run(RunInfo("site", "x"))
    journal.write(run, records)
    assert _text(journal.steps(run)) == _text(records[:1])
    assert len(journal.evidence(run)) == len(records) - 1
