from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils._actions import ACTIONS
from ansible_collections.trackbed.cluster.plugins.plugin_utils._book import (
    BookError,
    load,
    parse_checks,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Check
from ansible_collections.trackbed.cluster.plugins.plugin_utils._kinds import kinds

GOOD: dict[str, Any] = {
    "title": "Kernel",
    "reads": "os",
    "rule": "peers_equal",
    "params": {"value": "kernel_release", "noun": "kernel"},
    "severity": "major",
    "action": "repeat",
    "explains": "Why.",
    "sources": ["somewhere"],
}


def test_the_delivered_checks() -> None:
    book = load()
    names = [check.id for check in book.checks]
    assert names[:3] == ["gpu_count", "gpu_pcie_link", "gpu_count_driver"]
    assert len(names) == len(set(names))
    assert "h100-sxm" in book.skus
    assert book is load()


def test_every_action_ends_as_a_sentence() -> None:
    assert all(words.endswith(".") for words in ACTIONS.values())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"titel": "x"}, "check c: unknown key 'titel'; did you mean 'title'"),
        ({"title": ""}, "check c: title: wanted words"),
        ({"explains": 7}, "check c: explains: wanted words, found 7"),
        ({"rule": "peers"}, "check c: rule: 'peers'; .*peers_equal"),
        ({"severity": "high"}, "check c: severity: 'high'"),
        ({"action": "pray"}, "check c: action: 'pray'"),
        (
            {"params": {"value": "x"}},
            "check c: params: wanted .'entity', 'noun', 'value'. .*left out., found",
        ),
        ({"params": {"value": "x", "noun": 1}}, "check c: params: wanted texts"),
        ({"params": []}, "check c: params: wanted .*found .."),
        ({"sources": []}, "check c: sources: a check says at least one"),
        ({"sources": "x"}, "check c: sources: wanted a list of texts"),
        ({"sources": [1]}, "check c: sources: wanted a list of texts"),
    ],
)
def test_what_a_check_may_not_be(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BookError, match=says):
        parse_checks(yaml.safe_dump({"checks": {"c": {**GOOD, **change}}}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("checks: [", "not YAML"),
        ("[]", "holds `checks`, from id to check"),
        ("checks: 1", "holds `checks`, from id to check"),
        ("checks: {c: 1}", "check c: wanted a mapping, found int"),
        ("checks: {c: {title: x}}", "check c: reads, rule, .* missing"),
    ],
)
def test_what_is_no_declaration(text: str, says: str) -> None:
    with pytest.raises(BookError, match=says):
        parse_checks(text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"compare": "is"}, "compare: 'is'; .*at_least"),
        ({"compare": "at_most", "want": "0"}, "finite number, or it could never fail"),
        ({"compare": "at_most", "want": float("inf")}, "finite number, or it could never fail"),
        ({"compare": "at_most", "want": float("nan")}, "finite number, or it could never fail"),
        ({"compare": "one_of", "want": []}, "want: a list of values"),
        ({"want": [1]}, "want: one value"),
        ({"want": {"value": "x"}}, "a value compared with itself"),
        ({"want": {"other": "x"}}, "want: one value"),
        ({"entity": 3}, "entity: wanted a text"),
        ({"may_lack": "no"}, "may_lack: wanted true or false"),
        ({"value": ""}, "wanted texts"),
    ],
)
def test_a_comparison_that_could_not_work_is_refused(change: dict[str, Any], says: str) -> None:
    params = {"entity": "gpu", "value": "x", "noun": "x", "compare": "equals", "want": 1}
    check = {**GOOD, "rule": "value_is", "params": {**params, **change}}
    with pytest.raises(BookError, match=says):
        parse_checks(yaml.safe_dump({"checks": {"c": check}}))
    good = {**GOOD, "rule": "value_is", "params": params}
    assert parse_checks(yaml.safe_dump({"checks": {"c": good}}))[0].params["want"] == 1


def test_defaults_hold_for_all_checks_of_a_file() -> None:
    mine = {key: value for key, value in GOOD.items() if key != "reads"}
    text = {"defaults": {"reads": ["a", "b"], "optional": True}, "checks": {"c": mine, "d": GOOD}}
    first, second = parse_checks(yaml.safe_dump(text))
    assert (first.reads, first.optional) == (("a", "b"), True)
    assert (second.reads, second.optional) == (("os",), True)


@pytest.mark.parametrize("check", load().checks, ids=lambda check: check.id)
def test_a_check_looks_at_what_its_readers_give(check: Check) -> None:
    """A misspelt value would make a check that never fails and never passes."""
    name, sort = check.params.get("value"), check.params.get("entity", "").rsplit("/", 1)[-1]
    known = kinds()
    assert set(check.reads) <= set(known)
    assert check.only_with in ("", *known)
    gives = [known[kind].fields.get(sort or "node", {}) for kind in check.reads]
    if name and sort == "*":
        assert all(
            any(name in each for each in known[kind].fields.values()) for kind in check.reads
        )
    elif name:
        assert all(name in fields for fields in gives), check.reads
    want = check.params.get("want")
    if check.rule == "value_is" and not isinstance(want, dict) and sort != "*":
        types = {fields[name].type for fields in gives}
        wanted = {type(one) for one in (want if isinstance(want, list) else [want])}
        assert all(one in types or (one is int and float in types) for one in wanted), types


def test_a_check_without_params() -> None:
    (check,) = parse_checks(
        yaml.safe_dump({"checks": {"c": {**GOOD, "rule": "gpu_pcie_link", "params": {}}}})
    )
    assert (check.id, dict(check.params), check.sources) == ("c", {}, ("somewhere",))
