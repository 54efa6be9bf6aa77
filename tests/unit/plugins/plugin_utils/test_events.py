"""The catalogue of kernel events: what each row asks for, and what is no catalogue."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import dmesg
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _events
from ansible_collections.trackbed.cluster.plugins.plugin_utils._events import (
    EventsError,
    load,
    parse_events,
)

TEXT = _events._FILE.read_text(encoding="utf-8")


def step(**event: Any) -> str | None:
    meaning = load().meaning(event)
    return meaning.step.name if meaning else None


@pytest.mark.parametrize(
    ("number", "name"),
    [(13, "restart_app"), (43, "ignore"), (48, "reset_gpu"), (63, "watch"), (79, "reboot")],
)
def test_what_an_xid_asks_for(number: int, name: str) -> None:
    assert step(kind="xid", xid=number) == name


def test_an_xid_of_a_newer_driver_is_unknown_not_harmless() -> None:
    meaning = load().meaning({"kind": "xid", "xid": 999})
    assert meaning is not None
    assert (meaning.step.verdict, meaning.row, meaning.says) == (
        *("warn", "Xid 999", "not in the catalogue"),
    )


@pytest.mark.parametrize(
    ("action", "name"),
    [
        ("none", "ignore"),
        ("gpu_reset_required", "reset_gpu"),
        ("node_reboot_required", "reboot"),
        ("a_new_one", "unknown"),
    ],
)
def test_xid_154_says_itself_what_to_do(action: str, name: str) -> None:
    assert step(kind="xid", xid=154, action_to=action) == name


@pytest.mark.parametrize(
    ("number", "name"), [(20034, "reset_gpu"), (23009, "reboot"), (24001, "ignore")]
)
def test_what_an_sxid_asks_for(number: int, name: str) -> None:
    assert step(kind="sxid", sxid=number) == name


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ({"severity": "corrected"}, "ignore"),
        ({"severity": "uncorrected_non_fatal"}, "repair"),
        ({"severity": "uncorrectable_fatal"}, "repair"),
        ({"fatal": True}, "repair"),
        ({"severity": "ue"}, "repair"),
        ({}, "unknown"),
    ],
)
def test_severity_decides_where_the_kind_does_not(event: dict[str, Any], name: str) -> None:
    assert step(kind="aer", **event) == name


def test_what_says_nothing_about_hardware_means_nothing() -> None:
    assert load().meaning({"kind": "module_unsigned"}) is None
    assert load().meaning({}) is None


def test_every_kind_is_one_of_the_reader() -> None:
    kinds = dmesg.FIELDS["event"]["kind"].values
    assert kinds is not None
    assert {*load().kinds, *load().severity_kinds} <= set(kinds)
    actions = dmesg.FIELDS["event"]["action_to"].values
    assert actions is None or set(load().actions) >= set(actions)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("xids:", "xid:", "and nothing else"),
        ("restart_app]\n  11", "restart]\n  11", "xids 8: no step 'restart'"),
        ("  13: [graphics engine exception, restart_app]", "  13: x", "xids: 13: wanted"),
        ("[fail, reset_gpu]", "[fail, pray]", "step reset_gpu: .* 'pray'"),
        ("[fail, reset_gpu]", "[bad, reset_gpu]", "step reset_gpu: wanted"),
        ('[pass, ""]', "[pass, reset_gpu]", "step ignore: a verdict but pass"),
        ("from: 10001, to: 10002", "from: 10003, to: 10002", "from <= to"),
        ("none: ignore", "none: nothing", "actions none: no step"),
        ("fatal: repair", "fatal: pray", "by_severity fatal: no step"),
    ],
)
def test_what_is_no_catalogue(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(EventsError, match=says):
        parse_events(TEXT.replace(old, new, 1))


@pytest.mark.parametrize("text", ["[", "[]", "steps: {}"])
def test_what_is_no_mapping(text: str) -> None:
    with pytest.raises(EventsError):
        parse_events(text)


def test_steps_are_ranked_from_mild_to_grave() -> None:
    steps = sorted(load().steps.values(), key=lambda one: one.rank)
    verdicts = ["pass", "warn", "fail"]
    assert [one.verdict for one in steps] == sorted(
        (one.verdict for one in steps), key=verdicts.index
    )
    assert yaml.safe_load(TEXT)["steps"].keys() == {one.name for one in steps}
