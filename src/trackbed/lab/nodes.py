"""One node of a lab: its files on the host, its container, and whether it answers."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from trackbed.errors import TrackbedError
from trackbed.lab import files, keys
from trackbed.lab.command import Result, Runner, run
from trackbed.lab.engine import Container, Engine, run_argv
from trackbed.lab.hardware import change_tree, write_tree
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.record import LabRecord
from trackbed.lab.spec import HEAD, LabPaths, NodePaths
from trackbed.lab.state import NodeState

# A node is ready in one to three seconds; many at once on a few cores take turns.
READY_SECONDS = 120.0
_ASK_SECONDS = 10.0
_PAUSE = 0.2
_ACT, _ACT_SECONDS = "/usr/lib/trackbed-lab/act", 120.0
# One question for all that `status` and `up` want to know.
_QUESTION = (
    "cat /proc/sys/kernel/random/boot_id; "
    "systemctl is-system-running; systemctl --failed --no-legend --plain | cut -d' ' -f1; "
    "stat -c %Y /lab/boot_id; date +%s"
)


@dataclass(frozen=True)
class Answer:
    """What a node says of itself over ssh."""

    boot_id: str
    uptime_s: int
    """Seconds since its boot, not its host's."""
    state: str
    """What `systemctl is-system-running` says."""
    failed: tuple[str, ...]
    """Units that failed."""


def parse_answer(text: str) -> Answer | None:
    """Return what the question's output says, or None where it is not whole."""
    lines = text.split()
    if len(lines) < 4:
        return None
    boot_id, state, *failed, booted, now = lines
    if not (booted.isdigit() and now.isdigit()):
        return None
    return Answer(boot_id, int(now) - int(booted), state, tuple(failed))


def prepare(record: LabRecord, paths: LabPaths, node: str, runner: Runner = run) -> bool:
    """Make what is missing of a node's files; return whether anything was."""
    place = paths.node(node)
    files.private_dir(place.dir)
    keys.ensure_host(paths, place, runner)
    files.write(place.boot / "sysctl.defaults", namespace_defaults())
    if place.state.exists():
        return False
    state = NodeState(name=node, sku=record.spec.sku)
    write_tree(state, place.hardware)
    write_tree(state, place.cold)
    # Last: its presence says that the rest is whole.
    state.save(place.state)
    return True


def change(place: NodePaths, after: NodeState) -> bool:
    """Give a running node another state; return whether that changed anything."""
    before = NodeState.load(place.state)
    if before == after:
        return False
    change_tree(before, after, place.hardware)
    write_tree(after, place.cold)
    after.save(place.state)
    return True


def plant(record: LabRecord, place: NodePaths, engine: Engine | None, after: NodeState) -> bool:
    """Give a node another state, and let it do what its faults ask of it, where it runs.

    Returns whether anything was changed. Raises TrackbedError with the node's own words where it
    could not, and then leaves it as it was.
    """
    before = NodeState.load(place.state)
    if not change(place, after):
        return False
    if plan_of(before).acts == plan_of(after).acts or engine is None:
        return True
    there = engine.containers(record.spec.name, record.spec.network)
    if not any(one.node == before.name and one.running for one in there):
        return True  # it does so when it boots
    call = ["exec", record.spec.container(before.name), _ACT]
    result = engine.attempt(call, _ACT_SECONDS)
    if not result.ok:
        change(place, before)
        engine.attempt(call, _ACT_SECONDS)
        raise TrackbedError(
            f"{before.name} could not do it: {result.last_words}",
            wanted="what the fault needs in the node",
            remedy="`trackbed lab faults` says what a fault needs",
        )
    return True


def namespace_defaults(top: Path = Path("/proc/sys/net")) -> str:
    """Return the network settings that only the host's own namespace shows, for kernelfs.py.

    A server has them, and roles set them (net.core.rmem_max); a container lacks them. One a line:
    path, TAB, mode in octal, TAB, content.
    """
    lines = []
    for directory, names, entries in os.walk(top):
        # Settings of interfaces and neighbours are the host's own business.
        names[:] = sorted(set(names) - {"conf", "neigh"})
        for entry in sorted(entries):
            path = Path(directory) / entry
            mode = path.stat().st_mode & 0o777
            if entry == "netdev_rss_key" or not mode & 0o444:  # the former is a secret of the host
                continue
            try:
                content = path.read_text(encoding="ascii")
            except (OSError, ValueError):
                continue
            text = content.replace("\t", "\\t").replace("\n", "\\n")
            lines.append(f"{path.relative_to(top.parent)}\t{mode:o}\t{text}\n")
    return "".join(lines)


def container(record: LabRecord, paths: LabPaths, node: str, engine: Engine) -> Container:
    """Return what a node's container must be."""
    place = paths.node(node)
    want = Container(
        lab=record.spec.name,
        node=node,
        name=record.spec.container(node),
        image=record.image,
        network=record.spec.network,
        address=record.addresses[node],
        hardware=str(place.hardware),
        boot=str(place.boot),
        recipe="",
    )
    return _with_recipe(record, want, engine)


def head_container(record: LabRecord, engine: Engine) -> Container:
    """Return what the head's container must be."""
    want = Container(
        lab=record.spec.name,
        node=HEAD,
        name=record.spec.container(HEAD),
        image=record.head_image,
        network=record.spec.network,
        address=record.head_address,
        recipe="",
    )
    return _with_recipe(record, want, engine)


def _with_recipe(record: LabRecord, want: Container, engine: Engine) -> Container:
    argv = run_argv(engine.kind, want, engine.limits)
    text = "\0".join([engine.runtime, record.subnet, *argv])
    return replace(want, recipe=hashlib.sha256(text.encode()).hexdigest()[:12])


def ask(paths: LabPaths, address: str, runner: Runner = run) -> tuple[Answer | None, Result]:
    """Ask a node how it stands, over ssh, as Ansible will come."""
    argv = [*keys.ssh_argv(paths, address), _QUESTION]
    result = runner(argv, _ASK_SECONDS)
    return parse_answer(result.out), result


def wait(
    record: LabRecord,
    paths: LabPaths,
    node: str,
    engine: Engine,
    *,
    seconds: float = READY_SECONDS,
) -> Answer:
    """Wait until a node has booted and answers. Raises TrackbedError with the node's own words."""
    deadline = time.monotonic() + seconds
    while True:
        answer, result = ask(paths, record.addresses[node], engine.runner)
        if answer is not None and answer.state in ("running", "degraded"):
            return answer
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE)
    stands = f"it is {answer.state!r}" if answer else f"ssh says: {result.last_words}"
    said = engine.logs(record.spec.container(node))
    raise TrackbedError(
        f"{node} was not ready after {seconds:.0f} s; {stands}. Its last messages:\n"
        + (said or "(none)"),
        wanted="systemd running, and ssh with the lab's key",
        remedy=f"look into it with `{engine.kind} logs {record.spec.container(node)}`; then "
        "`trackbed lab up` again",
    )
