"""One result becomes a step and its evidence; secrets and nonsense do not get through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _evidence
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _records
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import Evidence, Step
from hypothesis import given
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
        [{"schema": 1, "source": "lspci", "entities": [], "raw": {"zlib_b64": "!!"}}],
        [{"schema": 1, "source": "lspci", "entities": [object()], "raw": None}],
    ],
)
def test_malformed_evidence_is_said_to_be_so(broken: Any) -> None:
    _, evidence = _records.records_from_result("gpu-001", "ok", {"trackbed_evidence": broken})
    assert isinstance(evidence, Evidence)
    assert evidence.document["quality"] == "unreadable"
    assert "cannot be used" in evidence.document["problems"][0]["says"]


@pytest.mark.parametrize(
    "result",
    [
        {"msg": "login with password=hunter22 refused"},
        {"msg": "BMC_TOKEN: hunter22"},
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


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=9), one, max_size=4),
    max_leaves=12,
)
_KEYS = ["msg", "diff", "results", "trackbed_evidence", "x"]


@given(
    st.dictionaries(st.sampled_from(["msg", "diff", "results", "trackbed_evidence", "x"]), _JSON)
)
def test_no_result_is_an_exception(result: dict[str, Any]) -> None:
    records = _records.records_from_result("gpu-001", "failed", result)
    assert isinstance(records[0], Step)
