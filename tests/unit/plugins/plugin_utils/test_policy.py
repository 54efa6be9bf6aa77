from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import (
    PolicyError,
    Setting,
    parse_policy,
)

CHECKS = ["gpu_count", "kernel_equal"]


def test_a_policy() -> None:
    policy = parse_policy(
        {"gpu_count": {"enabled": False}, "kernel_equal": {"severity": "minor"}}, CHECKS
    )
    assert policy == {"gpu_count": Setting(False), "kernel_equal": Setting(True, "minor")}
    assert parse_policy(None, CHECKS) == {}
    assert parse_policy({}, CHECKS) == {}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([], "policy: wanted a mapping of checks, found list"),
        ({"gpu_cout": {}}, "unknown check 'gpu_cout'; did you mean 'gpu_count'"),
        (
            {"gpu_count": False},
            "policy of gpu_count: wanted enabled, severity, action, want, found False",
        ),
        ({"gpu_count": {"enable": True}}, "unknown key 'enable'; did you mean 'enabled'"),
        ({"gpu_count": {"enabled": "no"}}, "enabled: wanted true or false, found 'no'"),
        ({"gpu_count": {"severity": "high"}}, "severity: 'high'; known: critical, info, major"),
    ],
)
def test_what_is_refused(raw: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        parse_policy(raw, CHECKS)
