"""`trackbed lab`: understand its arguments, call the lab, show what it answered."""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trackbed.errors import UsageError
from trackbed.lab import faults, image, keys, lifecycle, nodes, spec
from trackbed.lab import record as records
from trackbed.lab.hardware import skus
from trackbed.lab.host import Host, Say
from trackbed.lab.state import NodeState

Emit = Callable[[Mapping[str, Any]], None]
_DESCRIPTION = """\
Simulated GPU nodes in containers, on a network of their own: real systemd, sshd, sudo and apt;
made-up PCI devices. Needs podman (as root) or docker. Nothing of the host is changed; `down`
leaves nothing but the image. See docs/lab.md.
"""


def add_parser(subparsers: Any) -> None:
    """Add `lab` and its actions to the verbs of the command line."""
    shared = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    shared.add_argument("--json", action="store_true", help="one JSON document on stdout")
    shared.add_argument("--no-colour", "--no-color", action="store_true", help="no colours")
    shared.add_argument("-v", "--verbose", action="count", default=0, help="say more on stderr")
    shared.add_argument(
        "--name", default=spec.DEFAULT_NAME, help="which lab (default: %(default)s)"
    )
    lab = subparsers.add_parser(
        "lab",
        help="simulated nodes in containers: up, down, status, shell, reboot, fault",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = lab.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")

    def action(name: str, says: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = actions.add_parser(
            name, help=says, description=says[0].upper() + says[1:] + ".", parents=[shared]
        )
        return made

    _add_up_down(action)
    action("status", "show the nodes: address, boot, uptime, faults")
    shell = action("shell", "log in to a node, or run one command there")
    shell.add_argument("node", metavar="NODE")
    shell.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    reboot = action("reboot", "switch a node off and on, and wait for it")
    reboot.add_argument("node", metavar="NODE")
    fault = action("fault", "break a device of a running node, or mend it")
    fault.add_argument("target", metavar="NODE[/DEVICE]", help="as in gpu-002/gpu:5")
    fault.add_argument("kind", nargs="?", metavar="KIND", help="see `trackbed lab faults`")
    fault.add_argument("--clear", action="store_true", help="mend it; without KIND, all of them")
    action("faults", "list the kinds of faults")


def _add_up_down(action: Callable[[str, str], argparse.ArgumentParser]) -> None:
    up = action("up", "make the lab, or what is missing of it, and wait until it answers")
    up.add_argument(
        "--nodes", type=int, metavar="N", help=f"how many (default: {spec.DEFAULT_NODES})"
    )
    up.add_argument("--sku", metavar="SKU", help=f"what they are (default: {spec.DEFAULT_SKU})")
    up.add_argument(
        "--os",
        dest="system",
        metavar="OS",
        help=f"{' or '.join(spec.SYSTEMS)} (default: the first)",
    )
    up.add_argument(
        "--head",
        action=argparse.BooleanOptionalAction,
        help="with a head that serves signed repositories of the vendors' packages",
    )
    up.add_argument("--engine", default="", help="podman or docker (default: what is there)")
    down = action("down", "remove the lab and everything that it made")
    down.add_argument("--all", action="store_true", help="every lab")
    down.add_argument("--images", action="store_true", help="the images too")
    down.add_argument("--engine", default="", help="podman or docker (default: what is there)")


@dataclass(frozen=True)
class Call:
    """One call of the command line, and where its words go."""

    args: argparse.Namespace
    paths: spec.LabPaths
    host: Host
    say: Say
    emit: Emit
    text: Say


def run(args: argparse.Namespace, say: Say, emit: Emit, text: Say = print) -> int:
    """Run one action and return its exit code.

    `say` tells how it goes, `emit` gets the result as one document, `text` the result for a person;
    the caller decides which of the two is shown. Raises TrackbedError.
    """
    paths = spec.lab_paths(args.name)
    host = Host(spec.host_dir())
    return _ACTIONS[args.action](Call(args, paths, host, say, emit, text))


def _up(call: Call) -> int:
    if call.args.sku is not None and call.args.sku not in skus():
        raise UsageError(
            f"the lab has no SKU {call.args.sku!r}",
            wanted=f"one of {', '.join(sorted(skus()))}",
            remedy="give one of these with --sku",
        )
    args = call.args
    wish = lifecycle.Wish(
        args.name, args.nodes, args.sku, args.system, engine=args.engine, head=args.head
    )
    result = lifecycle.up(wish, call.paths, call.host, call.say)
    record = result.record
    if result.changed:
        call.text(f"{call.args.name} is up: {record.spec.nodes} nodes, in {result.seconds:.0f} s")
    else:
        call.text(f"{call.args.name} was up already; nothing was changed")
    call.text(f"inventory: {call.paths.inventory}")
    call.emit(
        {
            "lab": call.args.name,
            "changed": list(result.changed),
            "image": {"name": record.image, "how": result.image_how},
            "seconds": round(result.seconds, 1),
            "inventory": str(call.paths.inventory),
            "nodes": record.addresses,
        }
    )
    return 0


def _down(call: Call) -> int:
    names = (
        lifecycle.names_of_all(call.paths.dir.parent, call.host)
        if call.args.all
        else [call.args.name]
    )
    gone = []
    for name in names:
        if lifecycle.down(spec.lab_paths(name), call.host, call.say, asked=call.args.engine):
            gone.append(name)
            call.text(f"{name} is gone")
        else:
            call.text(f"there is no lab {name}; nothing was changed")
    if not names:
        call.text("there is no lab; nothing was changed")
    images: list[str] = []
    if call.args.images:
        engine = call.host.engine(call.host.engine_kind(call.args.engine), start=False)
        images = image.remove_all(engine) if engine is not None else []
        call.text(f"images removed: {', '.join(images) or 'none'}")
    call.emit({"removed": gone, "images": images})
    return 0


def _status(call: Call) -> int:
    record = lifecycle.require(call.paths)
    rows = []
    for node, running, answer in lifecycle.status(call.paths, call.host):
        rows.append(_row(call.paths, record, node, running, answer))
    head = ["node", "address", "state", "uptime_s", "boot_id", "faults"]
    call.text(table(head, [[_cell(row[key]) for key in head] for row in rows]))
    call.emit(
        {
            "lab": call.args.name,
            "engine": record.engine,
            "sku": record.spec.sku,
            "os": record.spec.system,
            "finished": record.finished,
            "inventory": str(call.paths.inventory),
            "nodes": rows,
        }
    )
    whole = record.finished and all(row["state"] in ("running", "degraded") for row in rows)
    return 0 if whole else 4


def _row(
    paths: spec.LabPaths,
    record: records.LabRecord,
    node: str,
    running: bool,
    answer: nodes.Answer | None,
) -> dict[str, Any]:
    place = paths.node(node).state
    planted = NodeState.load(place).faults if place.exists() else ()
    silent = "unreachable" if running else "stopped"
    return {
        "node": node,
        "address": record.addresses[node],
        "state": answer.state if answer else silent,
        "uptime_s": answer.uptime_s if answer else None,
        "boot_id": answer.boot_id if answer else None,
        "failed_units": list(answer.failed) if answer else [],
        "faults": [{"target": mark.target, "kind": mark.kind} for mark in planted],
    }


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(f"{mark['target']} {mark['kind']}" for mark in value) or "-"
    return "-" if value is None else str(value)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows under their heads, in columns."""
    lines = [list(head), *[list(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = (
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _shell(call: Call) -> int:
    record = lifecycle.require(call.paths)
    address = record.addresses[lifecycle.require_node(record, call.args.node)]
    separated = call.args.command[:1] == ["--"]
    if not separated and "".join(call.args.command[:1]).startswith("-"):
        raise UsageError(
            f"the option {call.args.command[0]} stands after the node",
            wanted="options first: trackbed lab shell --name NAME NODE -- COMMAND",
            remedy="move it before the node",
        )
    command = call.args.command[1:] if separated else call.args.command
    argv = keys.ssh_argv(call.paths, address, batch=False)
    # Its input, output and exit code are the user's own: no time limit either.
    return subprocess.run([*argv, *command], check=False).returncode


def _reboot(call: Call) -> int:
    record = lifecycle.require(call.paths)
    place = call.paths.node(lifecycle.require_node(record, call.args.node))
    if any(mark.kind == "ssh_down" for mark in NodeState.load(place.state).faults):
        raise UsageError(
            f"{call.args.node} has the fault ssh_down: nobody could see when it is up again",
            wanted="a node that answers over ssh",
            remedy=f"clear it first: trackbed lab fault {call.args.node} ssh_down --clear",
        )
    answer = lifecycle.reboot(call.paths, call.args.node, call.host, call.say)
    call.text(f"{call.args.node} is up again, boot {answer.boot_id}")
    call.emit(
        {
            "lab": call.args.name,
            "node": call.args.node,
            "boot_id": answer.boot_id,
            "state": answer.state,
        }
    )
    return 0


def _fault(call: Call) -> int:
    record = lifecycle.require(call.paths)
    node, device = faults.parse_target(call.args.target)
    place = call.paths.node(lifecycle.require_node(record, node))
    if call.args.kind is None and not call.args.clear:
        raise UsageError(
            "no kind of fault was given",
            wanted=f"one of {', '.join(sorted(faults.FAULTS))}",
            remedy="see `trackbed lab faults`",
        )
    with call.host.lock(call.say):
        state = NodeState.load(place.state)
        if call.args.clear:
            after = faults.clear(state, device, call.args.kind)
        else:
            after = faults.apply(state, device, call.args.kind, round(time.time(), 3))
        engine = call.host.engine(record.engine, start=False)
        changed = nodes.plant(record, place, engine, after)
    now = ", ".join(f"{mark.target} {mark.kind}" for mark in after.faults) or "none"
    call.text(f"{node}: faults now: {now}{'' if changed else ' (nothing was changed)'}")
    marks = [{"target": mark.target, "kind": mark.kind} for mark in after.faults]
    call.emit({"lab": call.args.name, "node": node, "changed": changed, "faults": marks})
    return 0


def _faults(call: Call) -> int:
    rows = [(name, one.target, one.effect) for name, one in sorted(faults.FAULTS.items())]
    call.text(table(["kind", "on", "what will be seen"], rows))
    call.emit(
        {"faults": [{"kind": kind, "target": on, "effect": effect} for kind, on, effect in rows]}
    )
    return 0


_ACTIONS: dict[str, Callable[[Call], int]] = {
    "up": _up,
    "down": _down,
    "status": _status,
    "shell": _shell,
    "reboot": _reboot,
    "fault": _fault,
    "faults": _faults,
}
