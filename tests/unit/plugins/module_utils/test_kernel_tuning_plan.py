"""Wish against node: what would change, what is in the way, in which order."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import (
    _kernel_tuning_files as files,
)
from ansible_collections.trackbed.cluster.plugins.module_utils import (
    _kernel_tuning_model as model,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_limits import (
    login_ceilings,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    Limit,
    OwnFile,
    Plan,
    Settings,
    Snapshot,
    Unit,
    UnitWish,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_plan import make_plan
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_units import unit_from

UNLIMITED = Limit(None, None)
SWAP = Settings(sysctl={"vm/swappiness": "1"})
SWAP_FILE = {model.SYSCTL_FILE: OwnFile(files.render_sysctl({"vm/swappiness": "1"}))}


def lines(plan: Plan) -> list[str]:
    return [f"{one.item}: {one.before} -> {one.after}" for one in plan.changes]


def steps(plan: Plan) -> list[str]:
    return [str(one) for one in plan.in_order()]


def test_nothing_wanted_nothing_done() -> None:
    assert make_plan(Settings(), Snapshot()) == Plan()


@pytest.mark.parametrize(
    ("live", "own", "says", "kinds"),
    [
        ("60", {}, "60 now, not set at boot -> 1", ["set_sysctl", "write_file"]),
        ("1", {}, "1 now, not set at boot -> 1", ["write_file"]),
        ("60", SWAP_FILE, "60 now, 1 at boot -> 1", ["set_sysctl"]),
        ("1", SWAP_FILE, None, []),
    ],
)
def test_sysctl(live: str, own: dict[str, OwnFile], says: str | None, kinds: list[str]) -> None:
    plan = make_plan(SWAP, Snapshot(own=own, sysctl={"vm/swappiness": live}))
    assert lines(plan) == ([f"sysctl vm.swappiness: {says}"] if says else [])
    assert [one.kind for one in plan.in_order()] == kinds
    assert plan.problems == plan.warnings == []


def test_a_key_no_longer_wanted_leaves_the_file_and_the_live_value() -> None:
    snapshot = Snapshot(own=SWAP_FILE, sysctl={"vm/swappiness": "1"})
    plan = make_plan(Settings(sysctl={}), snapshot)
    assert lines(plan) == ["sysctl vm.swappiness: 1 -> 1 now, not set at boot"]
    assert steps(plan) == ["remove " + model.SYSCTL_FILE]


def test_a_missing_key_is_refused_by_name() -> None:
    plan = make_plan(SWAP, Snapshot())
    (problem,) = plan.problems
    assert "sysctl vm.swappiness does not exist" in problem
    assert "/proc/sys/vm/swappiness" in problem


def test_a_key_that_may_be_missing_is_passed_over() -> None:
    settings = dataclasses.replace(SWAP, ignore_missing=frozenset({"vm/swappiness"}))
    plan = make_plan(settings, Snapshot())
    assert (plan.problems, plan.changes, plan.steps) == ([], [], [])
    assert plan.skipped == ["vm.swappiness"]


def test_a_module_of_this_run_may_bring_the_key() -> None:
    plan = make_plan(dataclasses.replace(SWAP, modules=("zswapper",)), Snapshot())
    assert plan.problems == []
    assert steps(plan) == [
        "load module zswapper",
        "set sysctl vm.swappiness to 1",
        "write " + model.MODULES_FILE,
        "write " + model.SYSCTL_FILE,
    ]
    assert "sysctl vm.swappiness: missing now, not set at boot -> 1" in lines(plan)


def test_no_module_brings_a_misspelt_key() -> None:
    settings = dataclasses.replace(SWAP, modules=("zswapper",))
    plan = make_plan(settings, Snapshot(misnamed={"vm/swappiness"}))
    assert "sysctl vm.swappiness does not exist" in plan.problems[0]


def test_an_unreadable_key_is_refused() -> None:
    plan = make_plan(SWAP, Snapshot(unreadable={"vm/swappiness": "Permission denied"}))
    assert "vm.swappiness cannot be read (Permission denied)" in plan.problems[0]


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        ("vm.swappiness = 60\n", "/etc/sysctl.d/99-x.conf:1 sets vm.swappiness to 60"),
        ("\n-vm.swappiness\n", "/etc/sysctl.d/99-x.conf:2 takes vm.swappiness out"),
        ("vm.swappiness = 60\nvm.swappiness = 1\n", None),
        ("vm.swap* = 60\n", None),
        ("kernel.panic = 60\n", None),
    ],
)
@pytest.mark.parametrize("how", ["warn", "fail"])
def test_files_that_would_undo_a_key(other: str, conflict: str | None, how: str) -> None:
    snapshot = Snapshot(
        own=SWAP_FILE,
        sysctl={"vm/swappiness": "1"},
        others={"sysctl": [("/etc/sysctl.d/99-x.conf", other)]},
    )
    plan = make_plan(dataclasses.replace(SWAP, conflicts=how), snapshot)
    named = plan.warnings if how == "warn" else plan.problems
    assert [one.split(" and is read")[0] for one in named] == ([conflict] if conflict else [])
    assert plan.conflicts == named
    assert plan.changes == []


def test_modules() -> None:
    own = {model.MODULES_FILE: OwnFile(files.render_modules(["ib-umad", "msr"]))}
    snapshot = Snapshot(own=own, loaded=frozenset({"ib_umad", "msr"}))
    plan = make_plan(Settings(modules=("ib-umad", "rdma_ucm")), snapshot)
    assert lines(plan) == [
        "module msr: loaded, at boot -> loaded, not at boot",
        "module rdma_ucm: not loaded, not at boot -> loaded, at boot",
    ]
    assert steps(plan) == ["load module rdma_ucm", "write " + model.MODULES_FILE]


def test_a_module_that_cannot_be_found_is_refused_before_anything() -> None:
    snapshot = Snapshot(unavailable={"ib_nothing": "modprobe: FATAL: Module ib_nothing not found"})
    plan = make_plan(Settings(modules=("ib_nothing",)), snapshot)
    assert "module ib_nothing cannot be loaded: modprobe: FATAL" in plan.problems[0]


def test_a_blacklisted_module_would_not_be_loaded_at_boot() -> None:
    others = {"modprobe": [("/etc/modprobe.d/x.conf", "blacklist ib-umad\n")]}
    plan = make_plan(Settings(modules=("ib_umad",)), Snapshot(others=others))
    assert plan.warnings[0].startswith("/etc/modprobe.d/x.conf:1 blacklists ib_umad")


def test_a_file_edited_by_hand_or_unreadable_to_others_is_put_right() -> None:
    text = SWAP_FILE[model.SYSCTL_FILE].text
    live = {"vm/swappiness": "1"}
    edited = Snapshot(own={model.SYSCTL_FILE: OwnFile(text + "# hello\n")}, sysctl=live)
    assert lines(make_plan(SWAP, edited)) == [
        f"file {model.SYSCTL_FILE}: edited by hand -> as Trackbed writes it"
    ]
    closed = Snapshot(own={model.SYSCTL_FILE: OwnFile(text, 0o600)}, sysctl=live)
    assert lines(make_plan(SWAP, closed)) == [f"file {model.SYSCTL_FILE}: mode 0600 -> mode 0644"]
    empty = Snapshot(own={model.SYSCTL_FILE: OwnFile("")})
    assert lines(make_plan(Settings(sysctl={}), empty)) == [
        f"file {model.SYSCTL_FILE}: without settings -> removed"
    ]


def test_login_limits() -> None:
    own = {model.LIMITS_FILE: OwnFile(files.render_limits({"stack": Limit(1, 2)}, ["*"]))}
    wanted = Settings(limits={"memlock": UNLIMITED, "nofile": Limit(10, 20)})
    plan = make_plan(wanted, Snapshot(own=own, nr_open=1048576))
    assert lines(plan) == [
        "login limit memlock of *: not set -> unlimited",
        "login limit nofile of *: not set -> 10:20",
        "login limit stack of *: 1:2 -> not set",
        "login limit memlock of root: not set -> unlimited",
        "login limit nofile of root: not set -> 10:20",
    ]
    assert steps(plan) == ["write " + model.LIMITS_FILE]


@pytest.mark.parametrize(
    ("limit", "lowered"),
    [
        (UNLIMITED, Limit(8192, 8192)),
        (Limit(64, None), Limit(64, 8192)),
        (Limit(64, 9000), Limit(64, 8192)),
        (Limit(64, 8192), None),
    ],
)
def test_limits_that_the_node_cannot_grant(limit: Limit, lowered: Limit | None) -> None:
    settings = Settings(limits={"memlock": limit}, limits_domains=("*",))
    snapshot = Snapshot(ceilings={"memlock": 8192})
    refused = make_plan(settings, snapshot)
    assert bool(refused.problems) is (lowered is not None)
    plan = make_plan(dataclasses.replace(settings, limits_ungrantable="lower"), snapshot)
    assert plan.problems == []
    assert lines(plan) == [f"login limit memlock of *: not set -> {lowered or limit}"]
    assert len(plan.warnings) == (lowered is not None)


@pytest.mark.parametrize(
    ("sysctl", "refused"), [({}, True), ({"fs/nr_open": "4096"}, False), (None, True)]
)
def test_more_files_than_the_kernel_allows_would_lock_everybody_out(
    sysctl: dict[str, str] | None, refused: bool
) -> None:
    settings = Settings(sysctl=sysctl, limits={"nofile": Limit(4096, 4096)})
    snapshot = Snapshot(sysctl={"fs/nr_open": "1024"}, nr_open=1024)
    problems = make_plan(settings, snapshot).problems
    assert bool(problems) is refused
    assert all("fs.nr_open is 1024" in one for one in problems)


def test_a_later_limits_file_would_win() -> None:
    others = {"limits": [("/etc/security/limits.d/99.conf", "* hard memlock 64\n")]}
    plan = make_plan(Settings(limits={"memlock": UNLIMITED}), Snapshot(others=others))
    assert plan.warnings[0].startswith(
        "/etc/security/limits.d/99.conf:1 sets * hard memlock 64 and is read after"
    )


STATUS = "Name:\tsystemd\nCapBnd:\t{}\n"
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max locked memory         8388608              8388608              bytes     \n"
    "Max open files            1024                 20000                files     \n"
    "Max stack size            8388608              unlimited            bytes     \n"
)


@pytest.mark.parametrize(
    ("capabilities", "uid_map", "ceilings"),
    [
        ("000001ffffffffff", "0 0 4294967295", {}),
        ("000001fffeffffff", "0 0 4294967295", {"memlock": 8192, "nofile": 20000}),
        ("000001ffffffffff", "0 100000 65536", {"memlock": 8192, "nofile": 20000}),
    ],
)
def test_what_a_login_can_get(capabilities: str, uid_map: str, ceilings: dict[str, int]) -> None:
    assert login_ceilings(STATUS.format(capabilities), uid_map, LIMITS) == ceilings


def test_service_limits() -> None:
    wanted = {"memlock": UNLIMITED, "nofile": Limit(1024, 4096)}
    own = {model.SYSTEM_FILE: OwnFile(files.render_service_limits({"core": Limit(0, 0)}))}
    live = {"memlock": Limit(8192, 8192), "nofile": Limit(1024, 4096), "core": Limit(0, 0)}
    plan = make_plan(Settings(service_limits=wanted), Snapshot(own=own, service_limits=live))
    assert lines(plan) == [
        "service limit core: 0 -> systemd's own",
        "service limit memlock: 8192 now, not set at boot -> unlimited",
        "service limit nofile: 1024:4096 now, not set at boot -> 1024:4096",
    ]
    reload = "make systemd read its files again"
    assert steps(plan) == ["write " + model.SYSTEM_FILE, reload]
    written = {model.SYSTEM_FILE: OwnFile(files.render_service_limits(wanted))}
    interrupted = Snapshot(own=written, service_limits=live)
    plan = make_plan(Settings(service_limits=wanted), interrupted)
    assert lines(plan) == ["service limit memlock: 8192 now, unlimited at boot -> unlimited"]
    assert steps(plan) == [reload]


def test_a_later_system_file_stops_at_once() -> None:
    others = {"system": [("/run/x/99.conf", "DefaultLimitMEMLOCK=65536\n")]}
    plan = make_plan(Settings(service_limits={"memlock": UNLIMITED}), Snapshot(others=others))
    assert plan.problems[0].startswith("/run/x/99.conf:1 sets DefaultLimitMEMLOCK to 64 and is")


RUNNING = Unit(active="active", file="enabled", kind="simple")


@pytest.mark.parametrize(
    ("state", "unit", "verbs", "says"),
    [
        ("enabled", RUNNING, [], None),
        ("enabled", Unit(active="activating", file="enabled"), [], None),
        (
            "enabled",
            Unit(file="disabled"),
            ["enable", "start"],
            "disabled, inactive -> enabled, active",
        ),
        (
            "enabled",
            Unit(load="masked", file="masked"),
            ["unmask", "enable", "start"],
            "masked, inactive -> enabled, active",
        ),
        ("enabled", Unit(file="enabled", kind="oneshot"), [], None),
        (
            "enabled",
            Unit(file="disabled", kind="oneshot"),
            ["enable"],
            "disabled -> enabled",
        ),
        ("disabled", RUNNING, ["disable", "stop"], "enabled, active -> disabled, inactive"),
        (
            "disabled",
            Unit(active="active", file="static"),
            ["stop"],
            "static, active -> static, inactive",
        ),
        ("disabled", Unit(load="not-found"), [], None),
        ("disabled", Unit(file="masked"), [], None),
        ("masked", RUNNING, ["stop", "mask"], "enabled, active -> masked, inactive"),
        ("masked", Unit(load="not-found"), ["mask"], "no such unit -> masked, inactive"),
        ("masked", Unit(load="masked", file="masked"), [], None),
        ("masked", Unit(file="masked-runtime"), ["mask"], "masked-runtime, inactive -> masked"),
        (
            "unmasked",
            Unit(load="masked", file="masked"),
            ["unmask"],
            "masked, inactive -> not mask",
        ),
        ("unmasked", RUNNING, [], None),
    ],
)
def test_units(state: str, unit: Unit, verbs: list[str], says: str | None) -> None:
    plan = make_plan(
        Settings(units=(UnitWish("x.service", state),)), Snapshot(units={"x.service": unit})
    )
    assert steps(plan) == [f"systemctl {verb} x.service" for verb in verbs]
    assert len(plan.changes) == (says is not None)
    assert says is None or lines(plan)[0].startswith(f"unit x.service: {says}")
    assert plan.problems == []


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        ({}, "there is no such unit"),
        ({"x.service": Unit(load="bad-setting")}, "systemd says bad-setting of its file"),
        ({"x.service": Unit(file="static")}, "it is static: it has no [Install] section"),
    ],
)
def test_units_that_cannot_be_enabled(unit: dict[str, Unit], says: str) -> None:
    plan = make_plan(Settings(units=(UnitWish("x.service", "enabled"),)), Snapshot(units=unit))
    assert says in plan.problems[0]
    assert plan.steps == []


def thp(live: str | None, unit: Unit | None = None, mode: str | None = None, **more: Any) -> Plan:
    own = {model.THP_FILE: OwnFile(files.render_thp_unit(mode))} if mode else {}
    units = {model.THP_UNIT: unit} if unit else {}
    snapshot = Snapshot(own=own, units=units, transparent_hugepage=live)
    return make_plan(Settings(transparent_hugepage=more.get("wanted", "madvise")), snapshot)


ON = Unit(active="active", file="enabled", kind="oneshot", remains=True)
RELOAD = "make systemd read its files again"
ENABLE, RESTART = (f"systemctl {verb} {model.THP_UNIT}" for verb in ("enable", "restart"))


@pytest.mark.parametrize(
    ("plan", "says", "does"),
    [
        (
            thp("always"),
            "always now, not set at boot -> madvise",
            ["write " + model.THP_FILE, RELOAD, ENABLE, RESTART],
        ),
        (
            thp("madvise"),
            "madvise now, not set at boot -> madvise",
            ["write " + model.THP_FILE, RELOAD, ENABLE, RESTART],
        ),
        (thp("always", ON, "madvise"), "always now, madvise at boot -> madvise", [RESTART]),
        (
            thp("never", ON, "never"),
            "never -> madvise",
            ["write " + model.THP_FILE, RELOAD, RESTART],
        ),
        (
            thp("madvise", dataclasses.replace(ON, file="disabled"), "madvise"),
            "madvise now, not set at boot -> madvise",
            [ENABLE],
        ),
        (
            thp("never", ON, "never", wanted="unmanaged"),
            "never -> never now, not set at boot",
            [f"systemctl disable --now {model.THP_UNIT}", "remove " + model.THP_FILE, RELOAD],
        ),
    ],
)
def test_huge_pages(plan: Plan, says: str, does: list[str]) -> None:
    assert lines(plan) == [f"transparent_hugepage: {says}"]
    assert steps(plan) == does


def test_huge_pages_that_need_nothing() -> None:
    assert thp("madvise", ON, "madvise") == Plan()
    assert thp("never", wanted="unmanaged") == Plan()


def test_a_stopped_huge_page_unit_is_started() -> None:
    plan = thp("madvise", dataclasses.replace(ON, active="failed"), "madvise")
    assert lines(plan) == [f"unit {model.THP_UNIT}: enabled, failed -> enabled, active"]
    assert steps(plan) == [RESTART]


def test_a_kernel_without_huge_pages() -> None:
    assert "built without it" in thp(None).problems[0]


def test_what_systemctl_says_of_a_unit() -> None:
    block = "Type=oneshot\nRemainAfterExit=yes\nLoadState=loaded\nActiveState=active\n"
    block += "UnitFileState=enabled\nNeedDaemonReload=yes\n"
    assert unit_from(block) == dataclasses.replace(ON, needs_reload=True)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("0", "enabled, inactive"),
        ("7", "enabled, inactive since a Condition in its unit file is not met"),
    ],
)
def test_a_unit_whose_condition_is_not_met_says_so(asked: str, says: str) -> None:
    block = "LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\nConditionResult=no\n"
    assert str(unit_from(block + f"ConditionTimestampMonotonic={asked}\n")) == says


def test_each_setting_has_a_diff_of_its_own() -> None:
    (diff,) = make_plan(SWAP, Snapshot(sysctl={"vm/swappiness": "60"})).diff()
    assert diff["before_header"] == diff["after_header"] == "sysctl vm.swappiness"
    assert (diff["before"], diff["after"]) == ("60 now, not set at boot\n", "1\n")
