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
    assert [check.id for check in book.checks][:3] == ["gpu_count", "gpu_pcie_link", "kernel_equal"]
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
        ({"params": {"value": "x"}}, "check c: params: wanted texts for .'value', 'noun'."),
        ({"params": {"value": "x", "noun": 1}}, "check c: params: wanted texts"),
        ({"params": []}, "check c: params: wanted texts"),
        ({"sources": []}, "check c: sources: a check says where"),
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
        ("[]", "one mapping, `checks`"),
        ("checks: 1", "one mapping, `checks`"),
        ("checks: {c: 1}", "check c: wanted a mapping, found int"),
        ("checks: {c: {title: x}}", "check c: reads, rule, .* missing"),
    ],
)
def test_what_is_no_declaration(text: str, says: str) -> None:
    with pytest.raises(BookError, match=says):
        parse_checks(text)


def test_a_check_without_params() -> None:
    (check,) = parse_checks(
        yaml.safe_dump({"checks": {"c": {**GOOD, "rule": "gpu_count", "params": {}}}})
    )
    assert (check.id, dict(check.params), check.sources) == ("c", {}, ("somewhere",))
