"""dmesg: its options, and the ways in which it writes a line.

Formats: sys-utils/dmesg.c of util-linux 2.38.
"""

from __future__ import annotations

import getopt
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..common.console import say, say_all
from ..common.kernel_log import Entry, allowed, booted, entries
from .json_form import report

LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
FACILITIES = ("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news")
_FORMATS = ("delta", "reltime", "ctime", "notime", "iso", "raw")
_SHORT = "CcDdEeF:f:HhJkL::l:n:PprSs:TtuVwWx"
_LONG = [
    "clear", "read-clear", "console-off", "show-delta", "console-on", "reltime", "file=",
    "facility=", "human", "help", "json", "kernel", "color=", "level=", "console-level=",
    "nopager", "force-prefix", "raw", "syslog", "buffer-size=", "ctime", "notime", "userspace",
    "version", "follow", "follow-new", "decode", "time-format=", "noescape",
]  # fmt: skip
_SAME = {
    "-C": "--clear", "-c": "--read-clear", "-D": "--console-off", "-d": "--show-delta",
    "-E": "--console-on", "-e": "--reltime", "-F": "--file", "-f": "--facility", "-H": "--human",
    "-h": "--help", "-J": "--json", "-k": "--kernel", "-L": "--color", "-l": "--level",
    "-n": "--console-level", "-P": "--nopager", "-p": "--force-prefix", "-r": "--raw",
    "-S": "--syslog", "-s": "--buffer-size", "-T": "--ctime", "-t": "--notime",
    "-u": "--userspace", "-V": "--version", "-w": "--follow", "-W": "--follow-new",
    "-x": "--decode",
}  # fmt: skip
# What has no effect here: there is no ring whose size or other readers matter, and no terminal.
_WITHOUT_EFFECT = frozenset(
    {"--kernel", "--color", "--nopager", "--force-prefix", "--syslog", "--buffer-size",
     "--noescape"}
)  # fmt: skip
_TIMES = {"--ctime": "ctime", "--reltime": "reltime", "--notime": "notime",
          "--show-delta": "delta", "--human": "reltime"}  # fmt: skip
_CHANGES = {"--clear": "clear kernel buffer", "--read-clear": "clear kernel buffer",
            "--console-off": "klogctl", "--console-on": "klogctl",
            "--console-level": "klogctl"}  # fmt: skip


class _Error(Exception):
    """What ends the program with 1."""


@dataclass
class _Options:
    form: str = "plain"
    decode: bool = False
    raw: bool = False
    json: bool = False
    nothing: bool = False
    follow: bool = False
    levels: frozenset[int] = field(default_factory=lambda: frozenset(range(8)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except (_Error, getopt.GetoptError) as error:
        sys.stderr.write(f"dmesg: {error}\n")
        return 1


def _run(argv: Sequence[str]) -> int:
    pairs, rest = getopt.gnu_getopt(list(argv), _SHORT.replace("L::", "L"), _LONG)
    names = [(_SAME.get(name, name), value) for name, value in pairs]
    asked = {name for name, _value in names}
    if "--version" in asked:
        say("dmesg from util-linux 2.38.1")
        return 0
    if "--help" in asked:
        say("\nUsage:\n dmesg [options]\n\nDisplay or control the kernel ring buffer.")
        return 0
    if rest:
        raise _Error("bad usage\nTry 'dmesg --help' for more information.")
    options = _options(names)
    if not allowed():
        raise _Error("read kernel buffer failed: Operation not permitted")
    found = [] if options.nothing else [e for e in entries() if e.level in options.levels]
    say_all(_lines(found, options))
    if options.follow:
        sys.stderr.write("dmesg: a lab node's log does not grow under a reader: not waiting\n")
    return 0


def _options(names: Sequence[tuple[str, str]]) -> _Options:
    options = _Options()
    for name, value in names:
        if name in _CHANGES:
            raise _Error(f"{_CHANGES[name]} failed: Operation not permitted")
        if name == "--file":
            raise _Error(f"cannot open {value}: the lab's dmesg reads the node's own log alone")
        if name in _TIMES:
            options.form = _TIMES[name]
        elif name not in _WITHOUT_EFFECT:
            _take(options, name, value)
    return options


def _take(options: _Options, name: str, value: str) -> None:
    if name == "--time-format":
        options.form = _one_of(value, _FORMATS, "time format")
        options.raw = options.form == "raw"
    elif name == "--level":
        levels = [_one_of(one, LEVELS, "level") for one in value.split(",")]
        options.levels = frozenset(LEVELS.index(one) for one in levels)
    elif name == "--facility":
        asked = [_one_of(one, FACILITIES, "facility") for one in value.split(",")]
        options.nothing = options.nothing or "kern" not in asked
    elif name == "--userspace":
        options.nothing = True
    elif name in ("--follow", "--follow-new"):
        options.follow = True
        options.nothing = options.nothing or name == "--follow-new"
    else:  # --decode, --raw, --json
        setattr(options, name[2:], True)


def _one_of(value: str, known: Sequence[str], what: str) -> str:
    if value not in known:
        raise _Error(f"unknown {what} '{value}'")
    return value


def _lines(found: Sequence[Entry], options: _Options) -> Iterator[str]:
    if options.json:
        yield from report(found, LEVELS if options.decode else None)
        return
    since, before = booted(), None
    for entry in found:
        if options.raw:
            yield f"<{entry.level}>[{entry.seconds:12.6f}] {entry.text}"
        else:
            facility = f"{'kern':<6}:{LEVELS[entry.level]:<6}: " if options.decode else ""
            yield f"{facility}{_time(entry, before, since, options.form)}{entry.text}"
        before = entry


def _time(entry: Entry, before: Entry | None, since: float, form: str) -> str:
    at = since + entry.seconds
    if form == "ctime":
        return f"[{time.asctime(time.localtime(at))}] "
    if form == "iso":
        local = time.localtime(at)
        zone = time.strftime("%z", local)
        micro = int(at * 1_000_000) % 1_000_000
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', local)},{micro:06d}{zone[:3]}:{zone[3:]} "
    delta = entry.seconds - before.seconds if before else 0.0
    if form == "delta":
        return f"[{entry.seconds:12.6f} <{delta:12.6f}>] "
    if form == "reltime":
        minute = int(at // 60)
        if before is None or int((since + before.seconds) // 60) != minute:
            return f"[{time.strftime('%b%e %H:%M', time.localtime(at))}] "
        return f"[{delta:+11.6f}] "
    return "" if form == "notime" else f"[{entry.seconds:12.6f}] "
