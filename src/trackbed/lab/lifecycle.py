"""Make, show, restart and remove labs. Each step can be taken again after a kill at any instant."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from trackbed.errors import TrackbedError, UsageError
from trackbed.lab import files, image, inventory, keys, nameserver, network, nodes, recipes, runtime
from trackbed.lab import record as records
from trackbed.lab.engine import DOCKER, PODMAN, Engine
from trackbed.lab.host import Host, Say
from trackbed.lab.recipes import Recipe
from trackbed.lab.record import LabRecord
from trackbed.lab.spec import HEAD, LabPaths, LabSpec

T = TypeVar("T")
# Starting a container is mostly the engine's own work; more at once only wait for its locks.
_AT_ONCE = 4
_SSH_SECONDS = 10.0
_HEAD_KEY = "/srv/repositories/lab-archive-keyring.asc"


@dataclass(frozen=True)
class Wish:
    """What the command line asked for; None is "as it is, or the default"."""

    name: str
    nodes: int | None = None
    sku: str | None = None
    system: str | None = None
    engine: str = ""
    head: bool | None = None

    def spec(self, existing: LabSpec | None) -> LabSpec:
        """Return the lab that is meant. Raises UsageError where another of this name exists."""
        base = existing or LabSpec(name=self.name)
        spec = LabSpec(
            name=self.name,
            nodes=base.nodes if self.nodes is None else self.nodes,
            sku=self.sku or base.sku,
            system=self.system or base.system,
            head=base.head if self.head is None else self.head,
        )
        if existing is not None and spec != existing:
            raise UsageError(
                f"the lab {self.name!r} is there, with {existing.words}",
                wanted=spec.words,
                remedy=f"take it down first (trackbed lab down --name {self.name}), or make one of "
                "another --name",
            )
        return spec


@dataclass(frozen=True)
class UpResult:
    """What `up` did."""

    record: LabRecord
    changed: tuple[str, ...]
    """What was made, in words; empty when everything was there."""
    image_how: str
    seconds: float


def up(wish: Wish, paths: LabPaths, host: Host, say: Say) -> UpResult:
    """Make the lab, or what is missing of it, and wait until every node answers."""
    began = time.monotonic()
    with host.lock(say):
        existing = records.load(paths.record)
        spec = wish.spec(existing.spec if existing else None)
        kind = existing.engine if existing else host.engine_kind(wish.engine)
        engine = _engine(host, kind, paths)
        _refuse_other(engine, spec, paths)
        host.remember()
        made = _image(engine, recipes.node(spec.system), host, say)
        head = _image(engine, recipes.head(), host, say).name if spec.head else ""
        record = replace(_place(spec, existing, engine, made.name), head_image=head)
        record.save(_made(paths).record)
        changed = _converge(record, paths, host, engine, say)
        say(f"waiting for {spec.nodes} node{'s' * (spec.nodes > 1)}")
        answers = _each(spec.node_names, lambda node: nodes.wait(record, paths, node, engine))
        for node, answer in zip(spec.node_names, answers, strict=True):
            if answer.failed:
                say(f"{node}: these units failed: {', '.join(answer.failed)}")
        record.finish().save(paths.record)
    return UpResult(record.finish(), tuple(changed), made.how, time.monotonic() - began)


def _image(engine: Engine, recipe: Recipe, host: Host, say: Say) -> image.Image:
    return image.ensure(engine, recipe, say, environ=host.environ, runner=host.runner)


def _made(paths: LabPaths) -> LabPaths:
    files.private_dir(paths.dir)
    return paths


def _engine(host: Host, kind: str, paths: LabPaths) -> Engine:
    engine = host.engine(kind, start=True)
    assert engine is not None  # noqa: S101  (start=True)
    if kind != DOCKER and engine.limits.needs_wrapped_runtime:
        shown = "{{.Host.OCIRuntime.Path}}"
        real = engine.call("asking for the OCI runtime", ["info", "--format", shown]).strip()
        runtime.write(_made(paths).runtime, real)
        engine.runtime = str(paths.runtime)
    return engine


def _owned_elsewhere(engine: Engine, spec: LabSpec, paths: LabPaths) -> str:
    """Return the other directory that keeps a lab of this name; empty where there is none."""
    owner = engine.network_owner(spec.network)
    return owner if owner and owner != str(paths.dir) and Path(owner).exists() else ""


def _refuse_other(engine: Engine, spec: LabSpec, paths: LabPaths) -> None:
    """Raise UsageError where a lab of this name is kept in another directory."""
    owner = _owned_elsewhere(engine, spec, paths)
    if owner:
        raise UsageError(
            f"a lab {spec.name!r} is there already, kept in {owner}",
            wanted=f"a name that is free, or one kept in {paths.dir}",
            remedy="give another --name, or set TRACKBED_LAB_DIR to the directory above that one",
        )


def _place(spec: LabSpec, existing: LabRecord | None, engine: Engine, name: str) -> LabRecord:
    """Return the record to work by: the existing one, or one with a free subnet."""
    subnet = engine.network_subnet(spec.network) or (existing.subnet if existing else "")
    if not subnet:
        subnet = network.choose(spec.name, [*engine.networks(), *network.host_routes()])
    return LabRecord(spec, engine.kind, name, subnet)


def _converge(
    record: LabRecord, paths: LabPaths, host: Host, engine: Engine, say: Say
) -> list[str]:
    """Make what is missing; return what was."""
    spec, changed = record.spec, []
    if engine.network_subnet(spec.network) is None:
        engine.create_network(spec.name, str(paths.dir), spec.network, record.subnet)
        changed.append(f"network {record.subnet}")
    keys.ensure_client(paths, host.runner)
    _each(spec.node_names, lambda node: nodes.prepare(record, paths, node, host.runner))
    keys.write_known_hosts(paths, record.addresses)
    control = files.private_dir(inventory.control_dir(paths, host.dir))
    if inventory.write(record, paths, control):
        changed.append("inventory")
    wanted = {node: nodes.container(record, paths, node, engine) for node in spec.node_names}
    if spec.head:
        wanted[HEAD] = nodes.head_container(record, engine)
    there = {one.node: one for one in engine.containers(spec.name, spec.network)}
    good = [
        node
        for node, one in there.items()
        if node in wanted and one.running and one.recipe == wanted[node].recipe
    ]
    stale = [one.name for node, one in there.items() if node not in good]
    if stale:
        say(f"removing what is left of {len(stale)} nodes")
        engine.remove(stale)
    missing = [node for node in wanted if node not in good]
    if missing:
        say(f"starting {', '.join(missing)}")
    if HEAD in missing:
        engine.start(wanted[HEAD])
    if spec.head:
        key = engine.call("reading the head's key", ["exec", wanted[HEAD].name, "cat", _HEAD_KEY])
        for node in spec.node_names:
            files.write(paths.node(node).boot / "head.asc", key)
    _each([one for one in missing if one != HEAD], lambda node: engine.start(wanted[node]))
    return [*changed, *missing]


def _each(names: Iterable[str], work: Callable[[str], T]) -> list[T]:
    """Do the work for all names, several at once; the first error is raised after the last end."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, names))


def down(paths: LabPaths, host: Host, say: Say, *, asked: str = "") -> bool:
    """Remove a lab and all it made; return whether there was anything to remove."""
    with host.lock(say):
        engine = _engine_of(paths, host, asked)
        there = paths.dir.exists() or (engine is not None and paths.name in engine.labs())
        if there:
            if engine is not None:
                _refuse_other(engine, LabSpec(name=paths.name), paths)
            say(f"removing the lab {paths.name}")
            _remove(paths, host, engine)
        if engine is not None and engine.kind == PODMAN:
            nameserver.forget(
                nameserver.directory(host.environ, os.geteuid()), engine.network_names()
            )
        host.release(engine)
    return there


def _remove(paths: LabPaths, host: Host, engine: Engine | None) -> None:
    control = inventory.control_dir(paths, host.dir)
    for socket in control.glob("*") if control.is_dir() else ():
        host.runner(["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "node"], _SSH_SECONDS)
    if engine is not None:
        spec = LabSpec(name=paths.name)
        engine.remove(one.name for one in engine.containers(paths.name, spec.network))
        engine.remove_network(spec.network)
    for place in (control, paths.dir):
        shutil.rmtree(place, ignore_errors=True)
        if place.exists():
            raise TrackbedError(
                f"{place} could not be removed", wanted="nothing left", remedy="remove it by hand"
            )


def _engine_of(paths: LabPaths, host: Host, asked: str = "") -> Engine | None:
    """Return the engine that a lab was made with; None where none of its nodes can run.

    A lab that has a directory may have containers, even where the keeper was killed.
    """
    try:
        known = records.load(paths.record)
    except TrackbedError:
        known = None  # a broken record must not keep a lab from going
    try:
        kind = known.engine if known else host.engine_kind(asked)
    except UsageError:
        return None
    return host.engine(kind, start=paths.dir.exists())


def names_of_all(root: Path, host: Host) -> list[str]:
    """Return the names of all labs: those with a directory, and those that nobody keeps any more.

    What another existing directory keeps is somebody else's.
    """
    names = {paths.name for paths in records.all_labs(root)}
    try:
        engine = host.engine(host.engine_kind(), start=False)
    except UsageError:
        engine = None
    if engine is None:
        return sorted(names)
    for name in engine.labs():
        if not _owned_elsewhere(engine, LabSpec(name=name), LabPaths(root / name)):
            names.add(name)
    return sorted(names)


def require(paths: LabPaths) -> LabRecord:
    """Return the record of a lab that must be there. Raises UsageError where it is not."""
    record = records.load(paths.record)
    if record is None:
        others = ", ".join(lab.name for lab in records.all_labs(paths.dir.parent)) or "none"
        raise UsageError(
            f"there is no lab {paths.name!r} in {paths.dir.parent} (labs there: {others})",
            wanted="a lab that is up",
            remedy=f"make it: trackbed lab up --name {paths.name}",
        )
    return record


def require_node(record: LabRecord, node: str) -> str:
    """Return the node's name. Raises UsageError where the lab has no such node."""
    if node not in record.spec.node_names:
        raise UsageError(
            f"the lab {record.spec.name!r} has no node {node!r}",
            wanted=f"one of {record.spec.node_pattern}",
            remedy="name one of these",
        )
    return node


def reboot(paths: LabPaths, node: str, host: Host, say: Say) -> nodes.Answer:
    """Switch a node off and on, and wait until it answers again."""
    with host.lock(say):
        record = require(paths)
        engine = _engine(host, record.engine, paths)
        engine.restart(record.spec.container(require_node(record, node)))
        return nodes.wait(record, paths, node, engine)


def status(paths: LabPaths, host: Host) -> list[tuple[str, bool, nodes.Answer | None]]:
    """Return each node, whether its container runs, and what it says of itself."""
    record = require(paths)
    engine = host.engine(record.engine, start=False)
    there = engine.containers(record.spec.name, record.spec.network) if engine is not None else []
    runs = {one.node for one in there if one.running}

    def ask(node: str) -> tuple[str, bool, nodes.Answer | None]:
        answer = nodes.ask(paths, record.addresses[node], host.runner)[0] if node in runs else None
        return node, node in runs, answer

    return _each(record.spec.node_names, ask)
