"""Options of kernel_tuning: what they mean, and every mistake named."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_input import (
    InputError,
    settings_from,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    Limit,
    Settings,
    UnitWish,
)


def test_nothing_given_leaves_all_alone() -> None:
    assert settings_from({}) == Settings()


def test_everything_given() -> None:
    settings = settings_from(
        {
            "sysctl": {
                "vm.swappiness": 10,
                "net.ipv4.tcp_rmem": " 4096\t87380  6291456 ",
                "net.ipv4.conf.eth0/100.rp_filter": "2",
                "net/ipv4/conf/eth1.7/rp_filter": "2",
                "kernel.sem": "absent",
            },
            "sysctl_ignore_missing": ["kernel.numa_balancing"],
            "limits": {"memlock": "unlimited", "nofile": "1024:4096", "stack": "absent"},
            "limits_domains": ["root", "*", "@rdma", "root"],
            "limits_ungrantable": "lower",
            "service_limits": {"memlock": "infinity", "core": 0},
            "modules": ["rdma-ucm", "ib_umad", "rdma_ucm"],
            "units": [
                {"name": "cron", "state": "disabled"},
                {"name": "sleep.target", "state": "masked"},
                {"name": "cron.service", "state": "disabled"},
            ],
            "transparent_hugepage": "never",
            "conflicts": "fail",
        }
    )
    assert settings == Settings(
        sysctl={
            "vm/swappiness": "10",
            "net/ipv4/tcp_rmem": "4096 87380 6291456",
            "net/ipv4/conf/eth0.100/rp_filter": "2",
            "net/ipv4/conf/eth1.7/rp_filter": "2",
        },
        ignore_missing=frozenset({"kernel/numa_balancing"}),
        limits={"memlock": Limit(None, None), "nofile": Limit(1024, 4096)},
        limits_domains=("root", "*", "@rdma"),
        limits_ungrantable="lower",
        service_limits={"memlock": Limit(None, None), "core": Limit(0, 0)},
        modules=("ib_umad", "rdma-ucm"),
        units=(UnitWish("cron.service", "disabled"), UnitWish("sleep.target", "masked")),
        transparent_hugepage="never",
        conflicts="fail",
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"sysctl": {"swappiness": 1}}, "'swappiness' is no key"),
        ({"sysctl": {"net.ipv4.conf.*.rp_filter": 1}}, "without wildcards"),
        ({"sysctl": {"vm/../kernel": 1}}, "is no key"),
        ({"sysctl": {"vm.drop_caches": 3}}, "vm.drop_caches is an order"),
        ({"sysctl": {"vm.swappiness": 1, "vm/swappiness": 2}}, "vm.swappiness is given twice"),
        ({"sysctl": {"vm.swappiness": True}}, "vm.swappiness has the value True"),
        ({"sysctl": {"vm.swappiness": None}}, "vm.swappiness has the value None"),
        ({"sysctl": {"vm.swappiness": 0.5}}, "vm.swappiness has the value 0.5"),
        ({"sysctl": {"vm.swappiness": "1\nkernel.panic = 1"}}, "one line of text"),
        ({"limits": {"locks": 1}}, "limits: 'locks' is not a limit that can be set"),
        ({"limits": {"memlock": "lots"}}, "limits: memlock is 'lots'"),
        ({"limits": {"memlock": -1}}, "limits: memlock is -1"),
        ({"limits": {"memlock": True}}, "limits: memlock is True"),
        ({"limits": {"nofile": "unlimited"}}, "limits: nofile cannot be unlimited"),
        ({"limits": {"nofile": "4096:1024"}}, "soft limit above its hard limit: 4096:1024"),
        ({"service_limits": {"stack": "unlimited:8192"}}, "service_limits: stack has a soft limit"),
        ({"limits_domains": ["a b"]}, "limits_domains: 'a b' is no domain"),
        ({"modules": ["ib umad"]}, "modules: 'ib umad' is no name"),
        ({"modules": ["--remove"]}, "modules: '--remove' is no name"),
        ({"units": [{"name": "-H x", "state": "masked"}]}, "units: '-H x' is no name of one unit"),
        ({"units": [{"name": "getty@", "state": "masked"}]}, "units: 'getty@' is no name"),
        ({"units": [{"name": "trackbed-thp", "state": "masked"}]}, "through transparent_hugepage"),
        (
            {"units": [{"name": "a", "state": "masked"}, {"name": "a", "state": "enabled"}]},
            "a.service shall be both masked and enabled",
        ),
    ],
)
def test_mistakes(options: dict[str, Any], names: str) -> None:
    with pytest.raises(InputError) as caught:
        settings_from(options)
    assert len(caught.value.problems) == 1
    assert names in str(caught.value)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        settings_from({"sysctl": {"x": 1}, "limits": {"y": 1}, "modules": ["z z"]})
    assert [one.split(":")[0] for one in caught.value.problems] == ["sysctl", "limits", "modules"]
