"""The module on a made-up node: check mode against real run, second run, failures half-way."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.trackbed.cluster.plugins.module_utils import _command
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_files import THP_KNOB
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    LIMITS_FILE,
    MODULES_FILE,
    OWN_FILES,
    SYSCTL_FILE,
    SYSTEM_FILE,
    THP_FILE,
    THP_UNIT,
)
from ansible_collections.trackbed.cluster.plugins.modules import kernel_tuning

RELEASE = "6.1.0-50-amd64"
KNOWN = {"ib_umad", "rdma_ucm"}
ALL: dict[str, Any] = {
    "sysctl": {"vm.swappiness": 1, "kernel.numa_balancing": 0},
    "sysctl_ignore_missing": ["kernel.numa_balancing"],
    "limits": {"memlock": "unlimited", "nofile": 4096},
    "service_limits": {"memlock": "unlimited", "nofile": "1024:4096"},
    "modules": ["ib_umad", "loop"],
    "units": [{"name": "chrony", "state": "enabled"}, {"name": "sleep.target", "state": "masked"}],
    "transparent_hugepage": "madvise",
}
NONE: dict[str, Any] = {
    "sysctl": {},
    "limits": {},
    "service_limits": {},
    "modules": [],
    "transparent_hugepage": "unmanaged",
}


class FakeNode:
    """A root directory, and programs that read and write it as the real ones would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: list[list[str]] = []
        self.broken: dict[str, _command.Result] = {}
        self.silent_after = ""
        self.units = {
            "chrony.service": ["disabled", "inactive", "notify"],
            "sleep.target": ["static", "inactive", ""],
        }
        self.defaults = {"NOFILE": ("524288", "1024"), "MEMLOCK": ("8388608", "8388608")}
        self.put("/proc/sys/vm/swappiness", "60\n")
        self.put("/proc/sys/fs/nr_open", "1048576\n")
        self.put("/proc/sys/kernel/osrelease", RELEASE + "\n")
        self.put("/proc/1/status", "CapBnd:\t000001ffffffffff\n")
        self.put("/proc/1/uid_map", "0 0 4294967295\n")
        self.put(THP_KNOB, "[always] madvise never\n")
        self.put(f"/lib/modules/{RELEASE}/modules.builtin", "kernel/drivers/block/loop.ko\n")
        (root / "sys/module").mkdir(parents=True)

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def put(self, path: str, text: str) -> None:
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).write_text(text)

    def files(self) -> dict[str, str]:
        """Everything on the node, to see that nothing changed."""
        found = {str(one): one.read_text() for one in self.root.rglob("*") if one.is_file()}
        return {
            **found,
            "units": repr(self.units),
            "modules": repr(list(self.at("/sys/module").iterdir())),
        }

    def run(self, argv: list[str], timeout_s: float) -> _command.Result:
        assert timeout_s > 0
        self.calls.append(argv)
        for start, result in self.broken.items():
            if " ".join(argv).startswith(start):
                return result
        if self.silent_after and any(self.silent_after in one for one in self.calls[:-1]):
            return _command.Result(tuple(argv), _command.TIMEOUT)
        result: _command.Result = getattr(self, argv[0])(argv)
        return result

    def modprobe(self, argv: list[str]) -> _command.Result:
        if argv[-1] not in KNOWN:
            text = (
                f"modprobe: FATAL: Module {argv[-1]} not found in directory /lib/modules/{RELEASE}"
            )
            return _command.Result(tuple(argv), _command.OK, 1, stderr=text.encode())
        if "--dry-run" not in argv:
            (self.at("/sys/module") / argv[-1]).mkdir()
        return done(argv)

    def systemctl(self, argv: list[str]) -> _command.Result:
        if argv[1] == "show":
            names = argv[argv.index("--") + 1 :] if "--" in argv else []
            said = "\n".join(map(self._show, names)) if names else self._show_manager()
            return done(argv, said)
        if argv[1] == "daemon-reload":
            text = self.at(SYSTEM_FILE).read_text() if self.at(SYSTEM_FILE).exists() else ""
            for line in text.splitlines():
                name, separator, value = line.partition("=")
                if separator:
                    soft, _colon, hard = value.partition(":")
                    self.defaults[name.replace("DefaultLimit", "")] = (hard or soft, soft)
            return done(argv)
        self._turn(argv[1], argv[-1])
        return done(argv)

    def _show(self, name: str) -> str:
        if name == THP_UNIT and self.at(THP_FILE).exists():
            self.units.setdefault(name, ["disabled", "inactive", "oneshot"])
        if name not in self.units:
            return "Type=\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
        file, active, kind = self.units[name]
        remains = "yes" if name == THP_UNIT else "no"
        load = "masked" if file == "masked" else "loaded"
        return (
            f"Type={kind}\nRemainAfterExit={remains}\nLoadState={load}\nActiveState={active}\n"
            f"UnitFileState={file}\nNeedDaemonReload=no\n"
        )

    def _show_manager(self) -> str:
        return "".join(
            f"DefaultLimit{name}={hard}\nDefaultLimit{name}Soft={soft}\n"
            for name, (hard, soft) in self.defaults.items()
        )

    def _turn(self, verb: str, name: str) -> None:
        unit = self.units.setdefault(name, ["disabled", "inactive", "oneshot"])
        unit[0] = {"enable": "enabled", "disable": "disabled", "mask": "masked"}.get(verb, unit[0])
        unit[1] = {"start": "active", "restart": "active", "stop": "inactive"}.get(verb, unit[1])
        if name == THP_UNIT and verb == "restart":
            self.put(THP_KNOB, "always [madvise] never\n")
        if name == THP_UNIT and verb == "disable":
            del self.units[name]


def done(argv: list[str], said: str = "") -> _command.Result:
    return _command.Result(tuple(argv), _command.OK, 0, stdout=said.encode())


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    fake = FakeNode(tmp_path / "root")
    monkeypatch.setattr(_command, "run", fake.run)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return fake


@pytest.fixture
def tune(
    node: FakeNode,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Runs the module on the node."""

    def run(check: bool = False, **options: Any) -> dict[str, Any]:
        arguments = {
            **options,
            "_ansible_check_mode": check,
            "_ansible_remote_tmp": str(tmp_path),
        }
        # Within a controller's process Ansible shows warnings instead of returning them.
        warned: list[str] = []
        monkeypatch.setattr(
            kernel_tuning.AnsibleModule, "warn", lambda _self, says: warned.append(says)
        )
        with patch_module_args(arguments), pytest.raises(SystemExit):
            kernel_tuning.main(str(node.root))
        return {**json.loads(capsys.readouterr().out), "warnings": warned}

    return run


def test_check_mode_real_run_and_second_run(node: FakeNode, tune: Any) -> None:
    before = node.files()
    foretold = tune(check=True, **ALL)
    assert node.files() == before
    assert foretold["changed"] is True
    assert "applied" not in foretold
    real = tune(**ALL)
    assert (real["changes"], real["diff"]) == (foretold["changes"], foretold["diff"])
    assert real["changed"] is True
    again = tune(**ALL)
    assert (again["changed"], again["changes"], again["applied"]) == (False, [], [])
    assert tune(check=True, **ALL)["changed"] is False


def test_what_lies_on_the_node(node: FakeNode, tune: Any) -> None:
    result = tune(**ALL)
    assert result["skipped_keys"] == ["kernel.numa_balancing"]
    assert node.at("/proc/sys/vm/swappiness").read_text() == "1\n"
    assert "vm.swappiness = 1\n" in node.at(SYSCTL_FILE).read_text()
    assert "memlock    unlimited" in node.at(LIMITS_FILE).read_text()
    assert "DefaultLimitNOFILE=1024:4096" in node.at(SYSTEM_FILE).read_text()
    assert node.at(MODULES_FILE).read_text().endswith("ib_umad\nloop\n")
    assert "madvise" in node.at(THP_FILE).read_text()
    assert {node.at(one).stat().st_mode & 0o777 for one in OWN_FILES} == {0o644}
    assert node.units["chrony.service"][:2] == ["enabled", "active"]
    assert node.units["sleep.target"][0] == "masked"
    assert ["modprobe", "--", "loop"] not in node.calls  # built into the kernel
    assert {one["item"] for one in result["changes"]} == {
        "login limit memlock of *",
        "login limit memlock of root",
        "login limit nofile of *",
        "login limit nofile of root",
        "module ib_umad",
        "module loop",
        "service limit memlock",
        "service limit nofile",
        "sysctl vm.swappiness",
        "transparent_hugepage",
        "unit chrony.service",
        "unit sleep.target",
    }


def test_taking_everything_away(node: FakeNode, tune: Any) -> None:
    tune(**ALL)
    foretold = tune(check=True, **NONE)
    real = tune(**NONE)
    assert real["changes"] == foretold["changes"] != []
    assert [one for one in OWN_FILES if node.at(one).exists()] == []
    assert node.at("/proc/sys/vm/swappiness").read_text() == "1\n"
    assert tune(**NONE)["changed"] is False


def test_fewer_settings_vanish_from_the_files(node: FakeNode, tune: Any) -> None:
    node.put("/proc/sys/vm/max_map_count", "65530\n")
    tune(sysctl={"vm.swappiness": 1, "vm.max_map_count": 99999})
    result = tune(sysctl={"vm.swappiness": 1, "vm.max_map_count": "absent"})
    assert [one["item"] for one in result["changes"]] == ["sysctl vm.max_map_count"]
    assert "max_map_count" not in node.at(SYSCTL_FILE).read_text()


def test_options_left_out_touch_nothing(node: FakeNode, tune: Any) -> None:
    tune(**ALL)
    before = node.files()
    assert tune()["changed"] is False
    assert node.files() == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sysctl": {"vm.swapiness": 1}}, "sysctl vm.swapiness does not exist on this kernel"),
        ({"sysctl": {"vm.drop_caches": 1}}, "vm.drop_caches is an order"),
        ({"modules": ["ib_nothing"]}, "FATAL: Module ib_nothing not found"),
        ({"units": [{"name": "slurmd", "state": "enabled"}]}, "there is no such unit"),
        ({"limits": {"nofile": 2000000}}, "fs.nr_open is 1048576"),
    ],
)
def test_nothing_is_begun_that_cannot_be_finished(
    node: FakeNode, tune: Any, options: dict[str, Any], says: str
) -> None:
    before = node.files()
    for check in (True, False):
        result = tune(check=check, **{**ALL, **options})
        assert result["failed"] is True
        assert result["msg"].startswith("Nothing was changed. ")
        assert says in result["msg"]
        assert any(says in one for one in result["problems"])
    assert node.files() == before


def test_a_conflict_is_named_with_file_and_line(node: FakeNode, tune: Any) -> None:
    node.put("/usr/lib/sysctl.d/95-site.conf", "# x\nvm.swappiness = 60\n")
    node.put("/usr/lib/sysctl.d/10-early.conf", "vm.swappiness = 30\n")
    result = tune(**ALL)
    assert [one.split(" and is")[0] for one in result["conflicts"]] == [
        "/usr/lib/sysctl.d/95-site.conf:2 sets vm.swappiness to 60"
    ]
    assert len(result["warnings"]) == 1
    refused = tune(**{**ALL, "conflicts": "fail"})
    assert refused["failed"] is True
    assert "/usr/lib/sysctl.d/95-site.conf:2" in refused["msg"]


def test_a_failure_half_way_says_what_was_applied(node: FakeNode, tune: Any) -> None:
    node.broken["systemctl enable -- chrony"] = _command.Result(
        (), _command.OK, 1, stderr=b"Failed to enable unit: Read-only file system\n"
    )
    result = tune(**ALL)
    assert (result["failed"], result["changed"]) == (True, True)
    assert "systemctl enable chrony.service" in result["msg"]
    assert "Read-only file system" in result["msg"]
    assert result["applied"][:2] == ["load module ib_umad", "set sysctl vm.swappiness to 1"]
    assert f"write {SYSCTL_FILE}" in result["applied"]
    node.broken.clear()
    assert tune(**ALL)["changed"] is True
    assert tune(**ALL)["changed"] is False


def test_a_value_that_the_kernel_refuses_never_reaches_the_file(
    node: FakeNode, tune: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Path.open

    def refuse(self: Path, mode: str = "r", **more: Any) -> Any:
        if self == node.at("/proc/sys/vm/swappiness") and mode == "w":
            raise OSError(errno.EINVAL, "Invalid argument")
        return usual(self, mode, **more)

    monkeypatch.setattr(Path, "open", refuse)
    result = tune(sysctl={"vm.swappiness": 999})
    assert (result["failed"], result["changed"], result["applied"]) == (True, False, [])
    assert "the kernel refused 999 for sysctl vm.swappiness: Invalid argument" in result["msg"]
    assert not node.at(SYSCTL_FILE).exists()


def test_a_key_that_its_module_did_not_bring(node: FakeNode, tune: Any) -> None:
    result = tune(modules=["ib_umad"], sysctl={"net.bridge.x": 1})
    assert "sysctl net.bridge.x does not exist on this kernel" in result["msg"]
    assert result["applied"] == ["load module ib_umad"]


def test_a_key_that_cannot_be_read(node: FakeNode, tune: Any) -> None:
    node.at("/proc/sys/vm/directory").mkdir()
    result = tune(sysctl={"vm.directory": 1})
    assert "sysctl vm.directory cannot be read (Is a directory)" in result["msg"]


def test_what_does_not_hold_is_an_error(
    node: FakeNode, tune: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.broken[f"systemctl restart -- {THP_UNIT}"] = done([])
    result = tune(transparent_hugepage="madvise")
    assert (result["failed"], result["changed"]) == (True, True)
    assert "transparent_hugepage is always now" in result["msg"]


def test_a_node_that_falls_silent_after_the_last_step(node: FakeNode, tune: Any) -> None:
    node.silent_after = "restart"
    result = tune(transparent_hugepage="madvise")
    assert "Every step was taken, but the node could not be read again" in result["msg"]
    assert result["changed"] is True


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (_command.Result((), _command.ABSENT), "there is no program modprobe on this node"),
        (_command.Result((), _command.TIMEOUT), "did not end within 120 s"),
        (_command.Result((), _command.ERROR, stderr=b"Exec format error"), "Exec format error"),
    ],
)
def test_modprobe_in_trouble(
    node: FakeNode, tune: Any, outcome: _command.Result, says: str
) -> None:
    node.broken["modprobe -- "] = outcome
    result = tune(modules=["ib_umad"])
    assert (result["failed"], result["changed"]) == (True, False)
    assert says in result["msg"]


def test_a_node_without_systemd(node: FakeNode, tune: Any) -> None:
    node.broken["systemctl"] = _command.Result(
        (), _command.OK, 1, stderr=b"System has not been booted with systemd as init system\n"
    )
    result = tune(transparent_hugepage="madvise")
    assert "not been booted with systemd" in result["msg"]
    assert result["msg"].startswith("Nothing was changed. ")
    assert tune(sysctl={"vm.swappiness": 1})["changed"] is True  # needs no systemd


def test_systemctl_that_answers_for_other_units(node: FakeNode, tune: Any) -> None:
    node.broken["systemctl show"] = done([], "")
    assert "spoke of 0 units where 1 were asked for" in tune(transparent_hugepage="never")["msg"]


def test_an_ordinary_user_is_told_to_become_root(
    node: FakeNode, tune: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "set become to true" in tune(**ALL)["msg"]
