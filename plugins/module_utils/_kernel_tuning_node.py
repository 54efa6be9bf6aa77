# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a node and take steps on it, for kernel_tuning. Private to trackbed.cluster.

The only part with input and output. It decides nothing: `snapshot` reads what a
plan needs, `take` does one step or raises StepError with what the node said.
"""

from __future__ import annotations

import os
import stat
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils import _command
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_files import (
    THP_KNOB,
    module_name,
    parse_modules,
    parse_service_limits,
    parse_sysctl,
    read_order,
    systemd_limit,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_limits import (
    login_ceilings,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_model import (
    FILE_MODE,
    LIMITS_FILE,
    LOAD_MODULE,
    MODULES_FILE,
    OWN_FILES,
    RELOAD,
    REMOVE_FILE,
    SET_SYSCTL,
    SYSCTL_FILE,
    SYSTEM_FILE,
    THP_UNIT,
    WRITE_FILE,
    Limit,
    OwnFile,
    Paths,
    Settings,
    Snapshot,
    Step,
    Unit,
    sysctl_name,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._kernel_tuning_units import (
    UNIT_PROPERTIES,
    unit_from,
)

# A module of a GPU or NIC may probe its hardware for a minute; a unit may wait for a slow stop.
MODPROBE_S = 120.0
SYSTEMCTL_S = 120.0
SHOW_S = 30.0

# Earlier folders hide later ones: sysctl.d(5), systemd-system.conf(5), modprobe.d(5).
SYSCTL_FOLDERS = (
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
)
SYSTEM_FOLDERS = (
    "/etc/systemd/system.conf.d", "/run/systemd/system.conf.d",
    "/usr/local/lib/systemd/system.conf.d", "/usr/lib/systemd/system.conf.d",
)  # fmt: skip
LIMITS_FOLDERS = ("/etc/security/limits.d",)
MODPROBE_FOLDERS = (
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/local/lib/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
)


class StepError(Exception):
    """The node did not do what was asked; the text says what it said."""


class Node:
    """One node: `paths` says where its files lie, `run` runs a program.

    `write` writes a file atomically.
    """

    def __init__(
        self,
        paths: Paths,
        run: t.Callable[[list[str], float], _command.Result],
        write: t.Callable[[str, str], None],
    ) -> None:
        self._paths, self._run, self._write = paths, run, write

    def snapshot(self, settings: Settings) -> Snapshot:
        """Read what a plan for these settings needs.

        Raises StepError where systemd does not answer.
        """
        found = Snapshot(own={path: one for path in OWN_FILES for one in [self._own(path)] if one})
        found.others = {
            "sysctl": self._files_after(SYSCTL_FOLDERS, SYSCTL_FILE),
            "limits": self._files_after(LIMITS_FOLDERS, LIMITS_FILE),
            "system": self._files_after(SYSTEM_FOLDERS, SYSTEM_FILE),
            "modprobe": self._files_after(MODPROBE_FOLDERS, ""),
        }
        if settings.sysctl is not None:
            own = [line.key for line in parse_sysctl(found.text_of(SYSCTL_FILE))]
            self._read_sysctl(found, {*settings.sysctl, *own})
        if settings.modules is not None:
            names = [*settings.modules, *parse_modules(found.text_of(MODULES_FILE))]
            found.loaded = self._loaded({module_name(one) for one in names})
            found.unavailable = self._unavailable(settings.modules, found.loaded)
        if settings.limits is not None:
            # Process 1: all logins descend from it.
            found.ceilings = login_ceilings(
                self._read("/proc/1/status"),
                self._read("/proc/1/uid_map"),
                self._read("/proc/1/limits"),
            )
            nr_open = self._read("/proc/sys/fs/nr_open").strip()
            found.nr_open = int(nr_open) if nr_open.isdigit() else None
        if settings.service_limits is not None:
            own = [line.key for line in parse_service_limits(found.text_of(SYSTEM_FILE))]
            found.service_limits = self._service_limits(sorted({*settings.service_limits, *own}))
        names = [wish.name for wish in settings.units]
        if settings.transparent_hugepage is not None:
            names.append(THP_UNIT)
            found.transparent_hugepage = self._thp()
        found.units = self._units(names)
        return found

    def take(self, step: Step) -> None:
        """Do one step. Raises StepError with what the node said."""
        try:
            self._take(step)
        except OSError as error:
            raise StepError(f"{error.strerror or error}: {error.filename or step.name}") from error

    def _take(self, step: Step) -> None:
        if step.kind == LOAD_MODULE:
            self._command(["modprobe", "--", step.name], MODPROBE_S)
        elif step.kind == SET_SYSCTL:
            self._set_sysctl(step.name, step.value)
        elif step.kind == WRITE_FILE:
            self._write(self._paths.at(step.name), step.value)
        elif step.kind == REMOVE_FILE:
            Path(self._paths.at(step.name)).unlink()
        elif step.kind == RELOAD:
            self._command(["systemctl", "daemon-reload"], SYSTEMCTL_S)
        else:
            self._command(["systemctl", *step.value.split(), "--", step.name], SYSTEMCTL_S)

    def _set_sysctl(self, path: str, value: str) -> None:
        place = Path(self._paths.at("/proc/sys/" + path))
        if not place.exists():
            raise StepError(
                f"sysctl {sysctl_name(path)} does not exist on this kernel (no {place})"
            )
        try:
            with place.open("w", encoding="ascii") as stream:
                stream.write(value + "\n")
        except OSError as error:
            raise StepError(
                f"the kernel refused {value} for sysctl {sysctl_name(path)}: {error.strerror}"
            ) from error

    def _command(self, argv: list[str], timeout_s: float) -> str:
        result = self._run(argv, timeout_s)
        said = " ".join((result.stderr or result.stdout).decode("utf-8", "replace").split())[:500]
        if result.outcome == _command.ABSENT:
            raise StepError(f"there is no program {argv[0]} on this node; install it")
        if result.outcome == _command.TIMEOUT:
            raise StepError("`{}` did not end within {:.0f} s".format(" ".join(argv), timeout_s))
        if result.outcome != _command.OK or result.rc != 0:
            raise StepError("`{}` failed (exit {}): {}".format(" ".join(argv), result.rc, said))
        return result.stdout.decode("utf-8", "replace")

    def _read(self, path: str) -> str:
        """Return the text of a file, "" where it cannot be read."""
        try:
            return Path(self._paths.at(path)).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def _own(self, path: str) -> OwnFile | None:
        place = Path(self._paths.at(path))
        try:
            mode = stat.S_IMODE(place.stat().st_mode)
            return OwnFile(place.read_text(encoding="utf-8", errors="replace"), mode)
        except FileNotFoundError:
            return None

    def _files_after(self, folders: t.Sequence[str], own: str) -> list[tuple[str, str]]:
        """Return the files in these folders that are read after ours, in that order."""
        found = {}
        for folder in folders:
            place = Path(self._paths.at(folder))
            found[folder] = [one.name for one in place.iterdir()] if place.is_dir() else []
        own_name = os.path.basename(own)  # noqa: PTH119  (a path of the node, not of this machine)
        return [
            (path, self._read(path))
            for path in read_order(found, folders)
            if os.path.basename(path) > own_name  # noqa: PTH119
        ]

    def _read_sysctl(self, found: Snapshot, paths: set[str]) -> None:
        for path in sorted(paths):
            place = Path(self._paths.at("/proc/sys/" + path))
            try:
                found.sysctl[path] = " ".join(
                    place.read_text(encoding="utf-8", errors="replace").split()
                )
            except (FileNotFoundError, NotADirectoryError):
                if place.parent.is_dir():
                    found.misnamed.add(path)
            except OSError as error:
                found.unreadable[path] = error.strerror or str(error)

    def _loaded(self, names: set[str]) -> frozenset[str]:
        """Return which of these modules are loaded or part of the kernel itself."""
        release = self._read("/proc/sys/kernel/osrelease").strip()
        built_in = {
            module_name(Path(line.strip()).name.split(".ko", 1)[0])
            for line in self._read(f"/lib/modules/{release}/modules.builtin").splitlines()
        }
        folder = Path(self._paths.at("/sys/module"))
        return frozenset(one for one in names if one in built_in or (folder / one).is_dir())

    def _unavailable(self, names: tuple[str, ...], loaded: frozenset[str]) -> dict[str, str]:
        """Return the modules that modprobe cannot find, with its own words."""
        found = {}
        for name in names:
            if module_name(name) not in loaded:
                try:
                    self._command(["modprobe", "--dry-run", "--", name], SHOW_S)
                except StepError as error:
                    found[name] = str(error)
        return found

    def _service_limits(self, items: list[str]) -> dict[str, Limit]:
        if not items:
            return {}
        names = ["DefaultLimit" + item.upper() + end for item in items for end in ("", "Soft")]
        said = self._command(
            ["systemctl", "show", "--no-pager", *("--property=" + one for one in names)], SHOW_S
        )
        values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        found = {}
        for item in items:
            hard, soft = (
                systemd_limit(item, values.get("DefaultLimit" + item.upper() + end, ""))
                for end in ("", "Soft")
            )
            if hard is not False and soft is not False:
                found[item] = Limit(soft, hard)
        return found

    def _units(self, names: list[str]) -> dict[str, Unit]:
        if not names:
            return {}
        said = self._command(
            ["systemctl", "show", "--no-pager", f"--property={UNIT_PROPERTIES}", "--", *names],
            SHOW_S,
        )  # fmt: skip
        # One block for each name, in order; an alias would give its other name as Id.
        blocks = [block for block in said.split("\n\n") if block.strip()]
        if len(blocks) != len(names):
            raise StepError("systemctl spoke of {} units where {} were asked for: {}".format(
                len(blocks), len(names), " ".join(names)))  # fmt: skip
        return {name: unit_from(block) for name, block in zip(names, blocks)}

    def _thp(self) -> str | None:
        text = self._read(THP_KNOB)
        return text.partition("[")[2].partition("]")[0] or None


def write_atomically(module: t.Any, place: str, text: str) -> None:
    """Write a file whole or not at all, readable by all, with its SELinux context.

    `module` is the AnsibleModule. Raises OSError.
    """
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    module.atomic_move(draft, place)
    # atomic_move keeps the mode of what it replaces.
    module.set_mode_if_different(place, FILE_MODE, False)
