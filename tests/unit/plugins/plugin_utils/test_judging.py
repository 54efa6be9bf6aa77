"""The one way to the judge."""

from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _judging
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
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


SMI = {
    "schema": 1,
    "source": "nvidia-smi-xml",
    "quality": "ok",
    "problems": [],
    "raw": None,
    "entities": [{"path": "a/gpu:0", "ids": {}, "values": {"remap_none_banks": 3}}],
}


def spare_rows(policy: object) -> Finding:
    found = _judging.judged(
        {"a": [SMI]}, {}, {"a": {"trackbed_sku": "h100-sxm"}}, ["a"], _judging.policy_of(policy)
    )
    (one,) = [finding for finding in found if finding.check == "gpu_spare_rows"]
    return one


def test_a_site_has_its_own_threshold_severity_and_action() -> None:
    assert spare_rows(None).verdict == "fail"
    mine = {"gpu_spare_rows": {"want": 2, "severity": "critical", "action": "watch_part"}}
    found = spare_rows(mine)
    assert (found.severity, found.action) == ("critical", "watch_part")
    assert found.says.endswith("3; wanted at most 2.")
    assert found.basis is not None
    assert found.basis.ref.startswith("the site's policy: gpu_spare_rows.want; ")
    assert spare_rows({"gpu_spare_rows": {"want": 4}}).verdict == "pass"


@pytest.mark.parametrize(
    ("check", "setting", "says"),
    [
        ("gpu_count", {"want": 4}, "gpu_count: want: this check has no threshold"),
        ("gpu_spare_rows", {"want": "many"}, "it could never fail"),
        ("gpu_mig", {"want": True}, "is of another type than 'disabled'"),
        ("gpu_mig", {"action": "pray"}, "policy of gpu_mig: action: 'pray'"),
        ("gpu_mig", {"threshold": 1}, "unknown key 'threshold'"),
    ],
)
def test_a_setting_that_could_not_work_is_refused(
    check: str, setting: dict[str, object], says: str
) -> None:
    with pytest.raises(PolicyError, match=says):
        _judging.policy_of({check: setting})
