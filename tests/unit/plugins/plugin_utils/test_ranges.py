from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._ranges import RangeError, expand


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("head", ["head"]),
        ("gpu-[001:003]", ["gpu-001", "gpu-002", "gpu-003"]),
        ("gpu-[9:11]", ["gpu-9", "gpu-10", "gpu-11"]),
        ("n[0:4:2].x", ["n0.x", "n2.x", "n4.x"]),
        ("r[1:2]-n[01:02]", ["r1-n01", "r1-n02", "r2-n01", "r2-n02"]),
        ("n[5:5]", ["n5"]),
        ("n[0:0]", ["n0"]),
        ("n[098:101]", ["n098", "n099", "n100", "n101"]),
    ],
)
def test_names(pattern: str, names: list[str]) -> None:
    assert list(expand(pattern, 100)) == names


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("n[1:", "a bracket has no partner"),
        ("n1]", "a bracket has no partner"),
        ("n[[1:2]]", "a bracket has no partner"),
        ("n[1-4]", r"\[1-4\] is not \[first:last\]"),
        ("n[a:c]", r"\[a:c\] is not \[first:last\]"),
        ("n[:4]", r"\[:4\] is not \[first:last\]"),
        ("n[01:100]", "ends of different width"),
        ("n[1:010]", "ends of different width"),
        ("n[4:1]", "runs backwards"),
        ("n[1:4:0]", "step of 0"),
        ("n[1:1000]", "stands for 1,000 names, more than 100"),
        ("n[1:9999999999]", "an end of 10 digits"),
        ("n[1:999999999]", "stands for 999,999,999 names"),
        ("", "host names hold"),
        ("a b", "host names hold"),
        ("-n[1:2]", "host names hold"),
        ("n_1", "host names hold"),
        ("n" * 254, "host names hold"),
    ],
)
def test_what_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(RangeError, match=says):
        expand(pattern, 100)
