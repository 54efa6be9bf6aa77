# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words that kernel_tuning is made of: wishes, what was read, and the plan.

Private to trackbed.cluster.

Pure data. `Settings` is what the user wants, `Snapshot` what the node has,
`Plan` the difference: one `Change` per setting for people, `Step`s for the node.
"""

from __future__ import annotations

import dataclasses
import posixpath

MODES = ("always", "madvise", "never")
THP_UNIT = "trackbed-thp.service"
FILE_MODE = 0o644

# limits.conf(5) item -> factor from its unit to that of setrlimit(2) (KiB -> bytes).
# Only those that systemd has a DefaultLimit... for and whose units agree.
LIMIT_ITEMS = {
    "as": 1024,
    "core": 1024,
    "data": 1024,
    "fsize": 1024,
    "memlock": 1024,
    "msgqueue": 1,
    "nofile": 1,
    "nproc": 1,
    "sigpending": 1,
    "stack": 1024,
}


@dataclasses.dataclass(frozen=True)
class Paths:
    """Every place on the node; `root` is "/" except in tests."""

    root: str = "/"

    def at(self, path: str) -> str:
        """Return where this absolute path lies below `root`."""
        return posixpath.join(self.root, path.lstrip("/"))


SYSCTL_FILE = "/etc/sysctl.d/90-trackbed.conf"
LIMITS_FILE = "/etc/security/limits.d/90-trackbed.conf"
SYSTEM_FILE = "/etc/systemd/system.conf.d/90-trackbed.conf"
MODULES_FILE = "/etc/modules-load.d/90-trackbed.conf"
THP_FILE = "/etc/systemd/system/" + THP_UNIT
OWN_FILES = (SYSCTL_FILE, LIMITS_FILE, SYSTEM_FILE, MODULES_FILE, THP_FILE)


@dataclasses.dataclass(frozen=True)
class Limit:
    """One limit in the units of limits.conf(5); None is unlimited."""

    soft: int | None
    hard: int | None

    def __str__(self) -> str:
        """Return `8192`, `unlimited` or `1024:524288`."""
        soft, hard = shown(self.soft), shown(self.hard)
        return soft if soft == hard else f"{soft}:{hard}"


def shown(value: int | None) -> str:
    """Return the limits.conf spelling of one value."""
    return "unlimited" if value is None else str(value)


@dataclasses.dataclass(frozen=True)
class UnitWish:
    """A systemd unit and the state it shall have: enabled, disabled, masked or unmasked."""

    name: str
    state: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the user wants. None: leave that part of the node alone."""

    sysctl: dict[str, str] | None = None
    """Path below /proc/sys -> value."""
    ignore_missing: frozenset[str] = frozenset()
    limits: dict[str, Limit] | None = None
    limits_domains: tuple[str, ...] = ("*", "root")
    limits_ungrantable: str = "fail"
    service_limits: dict[str, Limit] | None = None
    modules: tuple[str, ...] | None = None
    units: tuple[UnitWish, ...] = ()
    transparent_hugepage: str | None = None
    """One of `MODES`, "unmanaged", or None."""
    conflicts: str = "warn"


@dataclasses.dataclass(frozen=True)
class OwnFile:
    """One of our files as it is on the node."""

    text: str
    mode: int = FILE_MODE


@dataclasses.dataclass(frozen=True)
class Unit:
    """What systemd says of one unit."""

    load: str = "loaded"
    active: str = "inactive"
    file: str = ""
    kind: str = ""
    """Type= of a service."""
    remains: bool = False
    needs_reload: bool = False
    refused: bool = False
    """At its last start one of its own conditions was not met, such as ConditionVirtualization=."""

    @property
    def started(self) -> bool:
        """True where it runs, or is about to."""
        return self.active in ("active", "activating", "reloading", "refreshing")

    @property
    def runs_once(self) -> bool:
        """True for a oneshot that is inactive again after each run."""
        return self.kind == "oneshot" and not self.remains

    def __str__(self) -> str:
        """Return `enabled, active`."""
        if self.load == "not-found":
            return "no such unit"
        file = self.file or "no unit file"
        says = file if self.runs_once else f"{file}, {self.active}"
        if self.refused and self.active == "inactive":
            says += " since a Condition in its unit file is not met"
        return says


@dataclasses.dataclass
class Snapshot:
    """What the node has, before or after."""

    own: dict[str, OwnFile] = dataclasses.field(default_factory=dict)
    others: dict[str, list[tuple[str, str]]] = dataclasses.field(default_factory=dict)
    """sysctl, limits, system: files that are read after ours, in that order.

    Modprobe: all. (path, text).
    """
    sysctl: dict[str, str] = dataclasses.field(default_factory=dict)
    """Path -> live value; a key that this kernel does not have is not in it."""
    misnamed: set[str] = dataclasses.field(default_factory=set)
    """Keys that do not exist although their directory does: no module will bring them."""
    unreadable: dict[str, str] = dataclasses.field(default_factory=dict)
    """Path -> why the live value could not be read."""
    loaded: frozenset[str] = frozenset()
    """Wanted modules that are loaded or built in, with underscores."""
    unavailable: dict[str, str] = dataclasses.field(default_factory=dict)
    """Wanted module -> what modprobe said when it could not find it."""
    service_limits: dict[str, Limit] = dataclasses.field(default_factory=dict)
    units: dict[str, Unit] = dataclasses.field(default_factory=dict)
    transparent_hugepage: str | None = None
    ceilings: dict[str, int] = dataclasses.field(default_factory=dict)
    """Item -> the largest hard limit that a login on this node can get; not in it: unlimited."""
    nr_open: int | None = None

    def text_of(self, path: str) -> str:
        """Return the text of one of our files, "" where it does not exist."""
        return self.own[path].text if path in self.own else ""


@dataclasses.dataclass(frozen=True)
class Change:
    """One setting, for people."""

    item: str
    before: str
    after: str

    def as_dict(self) -> dict[str, str]:
        """Return plain types."""
        return dataclasses.asdict(self)


# Kinds of step, in the order in which they are taken. Modules come first since they bring
# sysctl keys; live values come before files, so that a value which the kernel refuses
# never reaches the next boot; units come last since they need their files.
LOAD_MODULE = "load_module"
SET_SYSCTL = "set_sysctl"
RETIRE_UNIT = "retire_unit"
WRITE_FILE = "write_file"
REMOVE_FILE = "remove_file"
RELOAD = "reload"
SYSTEMCTL = "systemctl"
ORDER = (LOAD_MODULE, SET_SYSCTL, RETIRE_UNIT, WRITE_FILE, REMOVE_FILE, RELOAD, SYSTEMCTL)


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing to do on the node."""

    kind: str
    name: str = ""
    """Module, sysctl path, file or unit."""
    value: str = ""
    """Value, text of the file, or arguments of systemctl."""

    def __str__(self) -> str:
        """Return what is done, for messages."""
        return {
            LOAD_MODULE: "load module {0}",
            SET_SYSCTL: "set sysctl {2} to {1}",
            WRITE_FILE: "write {0}",
            REMOVE_FILE: "remove {0}",
            RELOAD: "make systemd read its files again",
        }.get(self.kind, "systemctl {1} {0}").format(self.name, self.value, sysctl_name(self.name))


@dataclasses.dataclass
class Plan:
    """The difference between wish and node."""

    changes: list[Change] = dataclasses.field(default_factory=list)
    steps: list[Step] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    """Reasons to touch nothing at all."""
    warnings: list[str] = dataclasses.field(default_factory=list)
    conflicts: list[str] = dataclasses.field(default_factory=list)
    """Files that would undo a setting at boot."""
    skipped: list[str] = dataclasses.field(default_factory=list)
    """Sysctl keys that this kernel lacks and that the user allowed to be missing."""

    def change(self, item: str, before: str, after: str) -> None:
        """Record a change of one setting."""
        self.changes.append(Change(item, before, after))

    def step(self, kind: str, name: str = "", value: str = "") -> None:
        """Record a step, once."""
        one = Step(kind, name, value)
        if one not in self.steps:
            self.steps.append(one)

    def in_order(self) -> list[Step]:
        """Return the steps in the order in which they must be taken."""
        return sorted(self.steps, key=lambda one: ORDER.index(one.kind))

    def diff(self) -> list[dict[str, str]]:
        """Return Ansible's diff: one entry per setting, so that each can be shown by itself."""
        return [
            {
                "before_header": one.item,
                "after_header": one.item,
                "before": one.before + "\n",
                "after": one.after + "\n",
            }
            for one in self.changes
        ]


def sysctl_name(path: str) -> str:
    """Return the name that people use for a path below /proc/sys."""
    return path if "." in path else path.replace("/", ".")


def now_and_at_boot(live: str | None, boot: str | None) -> str:
    """Return how a setting stands that has a live and a persistent value."""
    if live is not None and live == boot:
        return live
    return "{} now, {} at boot".format(
        "missing" if live is None else live, "not set" if boot is None else boot
    )
