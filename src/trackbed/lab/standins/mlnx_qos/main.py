"""mlnx_qos: the command line, and what it changes.

Words: python/mlnx_qos of https://github.com/Mellanox/mlnx-tools.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from optparse import OptionParser, Values

from ..common.console import say, say_all
from . import settings, table
from .settings import POINTS, PRIORITIES, Qos

_SELECTIONS = ("strict", "ets", "vendor")
_MOST_GBIT = 1_000_000
_LONGEST = 0xFFFF
_FULL = 100


class RefusedError(Exception):
    """What the program says before it ends with an error."""


def main(argv: list[str] | None = None) -> int:
    """Run the program."""
    words = (sys.argv if argv is None else argv)[1:]
    parser = _parser()
    options, rest = parser.parse_args(words)
    if rest or options.intf is None:
        say("Bad arguments" if rest else "Interface name is required")
        parser.print_usage()
        return 1
    qos = settings.load(options.intf)
    if qos is None:
        say("Netlink error: No such device. see dmesg.")
        return 1
    try:
        changed = _changes(options, qos)
        if changed and os.geteuid() != 0:
            raise RefusedError("Netlink error: Operation not permitted. see dmesg.")
    except RefusedError as error:
        say(str(error))
        return 1
    if changed:
        settings.keep(options.intf, changed)
    say_all(table.lines({**qos, **changed}, every=options.printall))
    return 0


def _parser() -> OptionParser:
    parser = OptionParser(
        prog="mlnx_qos", usage="%prog -i <interface> [options]", version="%prog 1.2"
    )
    lists = {
        "-f": ("--pfc", "flow control of priorities 0 to 7: 0,0,0,1,0,0,0,0"),
        "-p": ("--prio_tc", "the class of each priority: 0,0,0,0,1,1,1,1"),
        "-s": ("--tsa", "how each class takes its turn: strict, ets or vendor"),
        "-t": ("--tcbw", "share of each ets class, percent; 100 in all"),
        "-r": ("--ratelimit", "limit of each class, Gbit/s; 0 is none"),
    }
    for short, (name, what) in lists.items():
        parser.add_option(short, name, help=what, metavar="LIST")
    parser.add_option("-d", "--dcbx", help="who controls DCBX: os or fw; get tells")
    parser.add_option("--trust", help="what decides on the priority: pcp or dscp")
    parser.add_option("--dscp2prio", action="append", help="set,30,2 or del,30,2 or flush")
    parser.add_option("--cable_len", help="length that the buffers are made for, metres")
    parser.add_option("--prio2buffer", help="the receive buffer of each priority", metavar="LIST")
    parser.add_option("--buffer_size", help="size of each receive buffer, bytes", metavar="LIST")
    parser.add_option("-i", "--interface", dest="intf", help="name of the interface")
    parser.add_option("-a", action="store_true", dest="printall", help="tell of all classes")
    return parser


def _changes(options: Values, qos: Qos) -> Qos:
    """Return all that is to be changed. Raises before anything is."""
    changed: Qos = {}
    if options.dcbx not in (None, "os", "fw", "get"):
        raise RefusedError("Invalid dcbx mode command. Refer to the help.")
    if options.dcbx in ("os", "fw"):
        changed["dcbx"] = options.dcbx
    if options.cable_len:
        changed["cable_length"] = _number(options.cable_len, 0, _LONGEST, "cable_len")
    if options.pfc:
        changed.update(settings.flow_control(_numbers(options.pfc, 1, "PFC", "pfc")))
    changed.update(_trust(options, qos))
    if options.prio2buffer:
        most = PRIORITIES - 1
        changed["buffer_of"] = _numbers(options.prio2buffer, most, "prio buffer", "prio2buffer")
    if options.buffer_size:
        total = qos["buffers_total"]
        changed["buffers"] = _numbers(options.buffer_size, total, "buffer_size", "buffer_size")
    if options.ratelimit:
        changed["limit_gbit"] = _numbers(options.ratelimit, _MOST_GBIT, "ratelimit", "ratelimit")
    changed.update(_classes(options, qos))
    return changed


def _trust(options: Values, qos: Qos) -> Qos:
    if options.trust and options.dscp2prio:
        raise RefusedError("trust and dscp2prio commands cannot be used at the same time.")
    if options.trust:
        if options.trust not in ("pcp", "dscp"):
            raise RefusedError("Invalid trust state command. Refer to the help.")
        return settings.trusting(qos, options.trust)
    changed: Qos = {}
    for entry in options.dscp2prio or []:
        if entry == "flush":
            changed = settings.trusting({**qos, **changed}, "pcp")
        else:
            changed = settings.mapped({**qos, **changed}, *_entry(entry))
    return changed


def _entry(text: str) -> tuple[str, int, int]:
    action, *numbers = text.split(",")
    plain = len(numbers) == 2 and all(word.isdigit() for word in numbers)
    if action not in ("set", "del") or not plain:
        raise RefusedError("Invalid dscp2prio command. Refer to the help.")
    point, priority = (int(word) for word in numbers)
    if point >= POINTS or priority >= PRIORITIES:
        raise RefusedError("Invalid dscp2prio command. Refer to the help.")
    return action, point, priority


def _classes(options: Values, qos: Qos) -> Qos:
    """Return what changes of the traffic classes; shares are for those that take turns by them."""
    changed: Qos = {}
    if options.tsa:
        names = options.tsa.split(",")
        _eight(names, "TSA", "tsa")
        bad = next((name for name in names if name not in _SELECTIONS), None)
        if bad is not None:
            raise RefusedError(f"Bad TSA value:  {bad}")
        changed["selection"] = names
    selection: list[str] = {**qos, **changed}["selection"]
    if options.tcbw:
        shares = _numbers(options.tcbw, _FULL, "ETS BW", "tcbw")
        if any(share and how != "ets" for share, how in zip(shares, selection)):  # noqa: B905
            raise RefusedError("ETS BW for a strict/vendor TC must be 0")
        changed["bandwidth"] = shares
    if options.prio_tc:
        most = PRIORITIES - 1
        changed["class_of"] = _numbers(options.prio_tc, most, "UP => TC mapping", "prio_tc")
    whole = sum({**qos, **changed}["bandwidth"])
    if changed and "ets" in selection and whole != _FULL:
        raise RefusedError("Netlink error: Bad value. see dmesg.")
    return changed


def _numbers(text: str, most: int, what: str, name: str) -> list[int]:
    words = text.split(",")
    _eight(words, what, name)
    return [_number(word, 0, most, what) for word in words]


def _eight(words: Sequence[str], what: str, name: str) -> None:
    if len(words) > PRIORITIES:
        raise RefusedError(f"Too many items for {what}")
    if len(words) < PRIORITIES:
        raise RefusedError(f"{name} list must have {PRIORITIES} items")


def _number(word: str, least: int, most: int, what: str) -> int:
    try:
        number = int(word)
    except ValueError as error:
        raise RefusedError(f"Bad value for {what}: {error}") from error
    if not least <= number <= most:
        raise RefusedError(f"Bad value for {what}: {number} is not in the range {least}..{most}")
    return number
