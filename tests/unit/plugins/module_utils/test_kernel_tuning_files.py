"""The files of kernel_tuning, and those that come after them."""

from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _kernel_tuning_files as files
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    Limit,
    sysctl_name,
)

UNLIMITED = Limit(None, None)


@pytest.mark.parametrize(
    ("name", "path", "back"),
    [
        ("vm.swappiness", "vm/swappiness", "vm.swappiness"),
        ("vm/swappiness", "vm/swappiness", "vm.swappiness"),
        (
            "net.ipv4.conf.eth0/1.rp_filter",
            "net/ipv4/conf/eth0.1/rp_filter",
            "net/ipv4/conf/eth0.1/rp_filter",
        ),
    ],
)
def test_names_and_paths(name: str, path: str, back: str) -> None:
    assert files.sysctl_path(name) == path
    assert sysctl_name(path) == back


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("4096\t87380", "4096 87380", True),
        ("0x10", "16", True),
        ("1", "01", False),
        ("core", "core", True),
        ("1 2", "1", False),
    ],
)
def test_same_value(one: str, other: str, same: bool) -> None:
    assert files.same_value(one, other) is same


def test_rendered_files_are_sorted_and_begin_with_the_header() -> None:
    assert files.render_sysctl({"vm/swappiness": "1", "kernel/pid_max": "9"}) == (
        files.HEADER + "kernel.pid_max = 9\nvm.swappiness = 1\n"
    )
    assert files.render_modules(["msr", "ib_umad"]) == files.HEADER + "ib_umad\nmsr\n"
    limits = files.render_limits({"nofile": Limit(1, 2), "memlock": UNLIMITED}, ["root", "*"])
    assert [line.split() for line in limits.splitlines()[1:]] == [
        ["*", "hard", "memlock", "unlimited"],
        ["*", "soft", "memlock", "unlimited"],
        ["*", "hard", "nofile", "2"],
        ["*", "soft", "nofile", "1"],
        ["root", "hard", "memlock", "unlimited"],
        ["root", "soft", "memlock", "unlimited"],
        ["root", "hard", "nofile", "2"],
        ["root", "soft", "nofile", "1"],
    ]
    service = {"nofile": Limit(1, 2), "memlock": UNLIMITED, "stack": Limit(8, 8)}
    assert files.render_service_limits(service) == (
        files.HEADER + "[Manager]\nDefaultLimitMEMLOCK=infinity\nDefaultLimitNOFILE=1:2\n"
        "DefaultLimitSTACK=8192\n"  # systemd counts bytes, limits.conf KiB
    )


def test_nothing_set_gives_no_file() -> None:
    assert files.render_sysctl({}) == ""
    assert files.render_limits({}, ["*"]) == ""
    assert files.render_service_limits({}) == ""
    assert files.render_modules([]) == ""


def test_what_is_written_is_read_back() -> None:
    values = {"vm/swappiness": "1", "net/ipv4/conf/eth0.1/rp_filter": "2"}
    assert {one.key: one.value for one in files.parse_sysctl(files.render_sysctl(values))} == values
    service = {"nofile": Limit(1, 2), "memlock": UNLIMITED, "stack": Limit(8, 8)}
    lines = files.parse_service_limits(files.render_service_limits(service))
    assert {one.key: one.value for one in lines} == {key: str(one) for key, one in service.items()}
    assert files.parse_modules(files.render_modules(["a", "b"])) == ["a", "b"]
    assert files.parse_thp_unit(files.render_thp_unit("never")) == "never"
    assert files.parse_thp_unit("[Service]\nExecStart=/bin/true\n") is None


def test_sysctl_files_of_others() -> None:
    text = (
        "# comment\n; comment\n\nvm.swappiness=60\n-kernel.panic = 1\n-vm.zone_reclaim_mode\n"
        "net.ipv4.conf.*.rp_filter = 2\n-net.ipv4.conf.hub0.rp_filter\nnonsense\n = 3\n"
    )
    assert [(one.number, one.key, one.value) for one in files.parse_sysctl(text)] == [
        (4, "vm/swappiness", "60"),
        (5, "kernel/panic", "1"),
        (6, "vm/zone_reclaim_mode", None),
        (8, "net/ipv4/conf/hub0/rp_filter", None),
    ]


def test_limits_files_of_others() -> None:
    text = "* - memlock -1\n@rdma soft nofile 10 # ours\nbroken line\n"
    assert [(one.number, one.key, one.value) for one in files.parse_limits(text)] == [
        (1, ("*", "hard", "memlock"), "unlimited"),
        (1, ("*", "soft", "memlock"), "unlimited"),
        (2, ("@rdma", "soft", "nofile"), "10"),
    ]


def test_system_files_of_others() -> None:
    text = (
        "[Manager]\nDefaultLimitMEMLOCK=8M\nDefaultLimitNOFILE=1024:524288\n"
        "DefaultLimitSTACK=1000\nDefaultTimeoutStopSec=5\nDefaultLimitRTPRIO=1\n"
    )
    assert [(one.number, one.key, one.value) for one in files.parse_service_limits(text)] == [
        (2, "memlock", "8M"),  # kept as written: it differs from whatever is wanted
        (3, "nofile", "1024:524288"),
        (4, "stack", "1000"),
    ]


def test_blacklists() -> None:
    text = "# x\nblacklist ib-umad\noptions msr a=1\nblacklist\n"
    assert [(one.number, one.key) for one in files.parse_blacklist(text)] == [(2, "ib_umad")]


def test_drop_ins_are_read_by_name_and_hidden_by_the_earlier_folder() -> None:
    found = {"/etc/x": ["50-b.conf", "README"], "/usr/x": ["50-b.conf", "10-a.conf"]}
    assert files.read_order(found, ["/etc/x", "/run/x", "/usr/x"]) == [
        "/usr/x/10-a.conf",
        "/etc/x/50-b.conf",
    ]


def test_the_last_assignment_counts() -> None:
    pair = [("/a", "vm.swappiness=1\n"), ("/b", "\nvm.swappiness=2\n")]
    last = files.last_lines(pair, files.parse_sysctl)
    assert last == {"vm/swappiness": ("/b", files.Line(2, "vm/swappiness", "2"))}
