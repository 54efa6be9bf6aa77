"""The one way to the judge."""

from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _judging
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import PolicyError

OFF = {"kernel_equal": {"enabled": False}}


def test_a_node_without_evidence_is_judged_unknown() -> None:
    found = _judging.judged({}, {}, {"a": {"trackbed_sku": "h100-sxm"}}, ["a", "b"])
    assert {one.node for one in found} == {"a", "b"}
    assert {one.verdict for one in found if not one.check.startswith("amd_")} == {"unknown"}
    others = {one.says for one in found if one.check.startswith("amd_") and one.node == "a"}
    assert others == {"Not judged on a: h100-sxm has no GPUs of amd."}


def test_a_policy_that_all_nodes_share() -> None:
    policy = _judging.common_policy({"a": {"trackbed_policy": OFF}, "b": {"trackbed_policy": OFF}})
    found = _judging.judged({}, {}, {}, ["a"], policy)
    assert {one.verdict for one in found if one.check == "kernel_equal"} == {"skip"}


def test_no_policy_is_one_too() -> None:
    assert not _judging.common_policy({"a": {}, "b": {}})


def test_policies_that_differ_are_refused() -> None:
    other = {"kernel_equal": {"enabled": True}}
    with pytest.raises(PolicyError, match="different values of trackbed_policy"):
        _judging.common_policy({"a": {"trackbed_policy": OFF}, "b": {"trackbed_policy": other}})


def test_a_policy_about_an_unknown_check_is_refused() -> None:
    with pytest.raises(PolicyError, match="kernel_eqal"):
        _judging.common_policy({"a": {"trackbed_policy": {"kernel_eqal": {}}}})
