"""What all labs of one host share: the lock, the engine, the keeper, how the host was before."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trackbed.errors import TrackbedError, UsageError
from trackbed.lab import cgroups, files, firewall, limits
from trackbed.lab.cgroups import Keeper
from trackbed.lab.command import Runner, run
from trackbed.lab.engine import DOCKER, PODMAN, Engine

Say = Callable[[str], None]
# Turning on forwarding makes the kernel reset other settings of every interface (RFC 1812).
_SYSCTLS = ("net/ipv4/ip_forward", "net/ipv4/conf", "net/ipv6/conf", "net/bridge")
_FIREWALLS = (("iptables", "ip"), ("ip6tables", "ip6"))
_SECONDS = 20.0
_FUSE = Path("/dev/fuse")
# Made by podman at its first start after a boot: without it podman knows that all has ended.
_PODMAN_MARK = Path("/run/libpod/alive")


class Host:
    """This host, as far as labs change it. Everything that changes it runs under `lock()`."""

    def __init__(
        self, directory: Path, environ: Mapping[str, str] = os.environ, runner: Runner = run
    ) -> None:
        """Keep what labs share in `directory`."""
        self.dir = directory
        self.environ = environ
        self.runner = runner

    @contextmanager
    def lock(self, say: Say) -> Iterator[None]:
        """Let one command at a time change labs on this host; the others wait."""
        files.private_dir(self.dir)
        with (self.dir / "lock").open("w", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("another trackbed lab command is at work on this host; waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def engine_kind(self, asked: str = "") -> str:
        """Return podman or docker. Raises UsageError where neither can be used."""
        asked = asked or self.environ.get("TRACKBED_LAB_ENGINE", "")
        if asked not in ("", PODMAN, DOCKER):
            raise UsageError(
                f"the engine {asked!r} is not known", wanted="podman or docker", remedy="correct it"
            )
        reasons = []
        for kind in [asked] if asked else [PODMAN, DOCKER]:
            reason = self._why_not(kind)
            if not reason:
                return kind
            reasons.append(f"{kind}: {reason}")
        raise UsageError(
            f"no container engine can be used here ({'; '.join(reasons)})",
            wanted="podman as root, or a docker daemon that this user may use",
            remedy="install podman (apt-get install podman crun netavark aardvark-dns, or dnf "
            "install podman), or run as root: sudo trackbed lab up",
        )

    def _why_not(self, kind: str) -> str:
        if shutil.which(kind, path=self.environ.get("PATH")) is None:
            return "not installed"
        if kind == PODMAN:
            if os.geteuid() != 0:
                return "this user is not root; rootless is not supported"
            return "" if _FUSE.exists() else f"{_FUSE} is missing (modprobe fuse)"
        result = self.runner([DOCKER, "version", "--format", "{{.Server.Version}}"], _SECONDS)
        return "" if result.ok else result.last_words

    def engine(self, kind: str, *, start: bool) -> Engine | None:
        """Return the engine as this host demands it.

        Where it needs a namespace and there is none, `start` makes one; without `start` the answer
        is None: then no lab runs.
        """
        if kind == DOCKER:
            return Engine(kind, limits.read("pids"), runner=self.runner)
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        if cgroups.layout(mounts) == cgroups.UNIFIED:
            return Engine(kind, limits.read(cgroups.host_controllers()), runner=self.runner)
        keeper = self._keeper() or self._another_keeper(start=start)
        if keeper is None:
            return None
        found = limits.read(keeper.controllers)
        engine = Engine(kind, found, prefix=keeper.prefix, runner=self.runner)
        self._forget_killed(engine)
        return engine

    def _forget_killed(self, engine: Engine) -> None:
        """Let podman look anew where all processes of its running containers were killed at once.

        Their network namespaces went with the keeper's mounts, and podman then refuses even to list
        what there is. Without its mark it does what it does after a boot: nothing runs.
        """
        asked = engine.attempt(["ps", "--all", "--quiet"])
        if asked.ok or "network namespace" not in asked.err or _monitors():
            return
        _PODMAN_MARK.unlink(missing_ok=True)

    def _keeper(self) -> Keeper | None:
        raw = self._load().get("keeper")
        keeper = Keeper(**raw) if raw else None
        return keeper if keeper is not None and keeper.alive else None

    def _another_keeper(self, *, start: bool) -> Keeper | None:
        """Take up the namespace of a keeper that was killed; `start` makes one where none is."""
        known = self._load().get("keeper") or {}
        keeper = cgroups.revive(known.get("namespace", ""))
        if keeper is None and start:
            keeper = cgroups.start_keeper()
        if keeper is not None:
            self._save({**self._load(), "keeper": asdict(keeper)})
        return keeper

    def remember(self) -> None:
        """Record how the host is before its first lab; later calls change nothing."""
        facts = self._load()
        if "before" not in facts and os.geteuid() == 0:
            before = {"sysctls": _sysctls(), "mounts": sorted(_mounts()), **self._rules()}
            self._save({**facts, "before": before})

    def release(self, engine: Engine | None) -> None:
        """After the last lab has gone: put back what the engine changed, end the keeper."""
        if engine is not None and engine.labs():
            return
        facts = self._load()
        ours = engine is not None and engine.kind == PODMAN and "before" in facts
        # Somebody's other containers need the forwarding and the rules that are there.
        if engine is not None and ours and not engine.running_any():
            self._restore(facts["before"], engine)
        keeper = self._keeper()
        if keeper is not None:
            cgroups.stop_keeper(keeper)
        self._facts.unlink(missing_ok=True)

    def _restore(self, before: Mapping[str, Any], engine: Engine) -> None:
        if not engine.prefix:
            # Outside of a namespace of its own podman keeps a few mounts after its last container.
            shown = "{{.Store.GraphRoot}} {{.Store.RunRoot}}"
            owned = engine.attempt(["info", "--format", shown]).out.split()
            for place in left_mounts(before["mounts"], _mounts(), owned):
                self.runner(["umount", place], _SECONDS)
        after = self._rules()
        for program, family in _FIREWALLS:
            old, new = before.get(program), after.get(program)
            if old is None or new is None:
                continue
            self._all(firewall.removal(program, old, new))
            rest = self._rules().get(program) or ""
            self._all(firewall.empty_tables(family, old, rest))
        restore_sysctls(before["sysctls"])

    def _all(self, commands: list[list[str]]) -> None:
        for argv in commands:
            self.runner(argv, _SECONDS)

    def _rules(self) -> dict[str, str | None]:
        """Return what iptables-save and ip6tables-save print; None where one is not there."""
        found: dict[str, str | None] = {}
        for program, _ in _FIREWALLS:
            result = self.runner([f"{program}-save"], _SECONDS)
            found[program] = result.out if result.ok else None
        return found

    @property
    def _facts(self) -> Path:
        return self.dir / "host.json"

    def _load(self) -> dict[str, Any]:
        try:
            raw = json.loads(self._facts.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise TrackbedError(
                f"{self._facts} cannot be read: {error}",
                wanted="the facts that labs of this host share",
                remedy="remove the file once no lab is left",
            ) from error
        return raw if isinstance(raw, dict) else {}

    def _save(self, facts: Mapping[str, Any]) -> None:
        files.private_dir(self.dir)
        files.write(self._facts, json.dumps(facts, indent=1) + "\n")


def _monitors(proc: Path = Path("/proc")) -> bool:
    """Say whether any container's monitor lives: one, conmon, stands beside each that runs."""
    names = (entry / "comm" for entry in proc.iterdir() if entry.name.isdigit())
    for name in names:
        try:
            if name.read_text(encoding="utf-8", errors="replace").strip() == "conmon":
                return True
        except OSError:
            continue  # it has just ended
    return False


def _mounts() -> set[str]:
    text = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    return {line.split()[1] for line in text.splitlines()}


def left_mounts(before: Iterable[str], after: Iterable[str], owned: Iterable[str]) -> list[str]:
    """Return the new mounts at podman's own places (its storage, its namespaces), deepest first."""
    places = [*(f"{root}/" for root in owned if root.startswith("/")), "/run/netns"]
    new = set(after) - set(before)
    ours = (path for path in new if any(f"{path}/".startswith(place) for place in places))
    return sorted(ours, key=len, reverse=True)


def _sysctls(top: Path = Path("/proc/sys")) -> dict[str, str]:
    found = {}
    for start in _SYSCTLS:
        paths = [top / start] if (top / start).is_file() else sorted((top / start).rglob("*"))
        for path in paths:
            try:
                if path.is_file() and path.stat().st_mode & 0o222:
                    found[str(path.relative_to(top))] = path.read_text(encoding="ascii").strip()
            except (OSError, ValueError):
                continue  # write-only, or a secret that was never set
    return found


def restore_sysctls(before: Mapping[str, str], top: Path = Path("/proc/sys")) -> None:
    """Write back the settings that differ; those of interfaces that have gone are left out."""
    # Forwarding first: it resets others, which are then put right.
    for name in sorted(before, key=lambda item: (item != "net/ipv4/ip_forward", item)):
        path = top / name
        try:
            if path.read_text(encoding="ascii").strip() != before[name]:
                path.write_text(before[name] + "\n", encoding="ascii")
        except (OSError, ValueError):
            continue
