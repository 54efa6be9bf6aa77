# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the logs of Slurm's daemons: lines, levels, bursts. Private to trackbed.cluster.

Forms: the daemon's own file (`[2026-12-01T11:20:07.318] error: ...`, any
LogTimeFormat), standard error (`slurmd: error: ...`), syslog and journalctl.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _kernel_json,
    _slurm_log_rows,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_lines import (
    Line,
    parse,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import Row
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._slurm import STATES
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._slurm_log_fields import (
    FIELDS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Reading,
    Value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

# What has been silent for so long begins a new event: the same as in the kernel log.
SILENCE_S = 180.0
MOST_EVENTS = 2000
MOST_PER_KIND = 300
MOST_NODES = 5000
MOST_STATES = 50
_DAEMON = re.compile(r"^(?:-> )?(slurmd|slurmctld|slurmstepd)(?:-[\w.]{1,64})?: ")
_TAGS = frozenset({"slurmd", "slurmctld", "slurmstepd", "systemd"})
_LEVEL = re.compile(r"^(fatal|error|warning|info|verbose|debug[1-5]?|sched): ")
_STEP = re.compile(r"^\[((?:[0-9]{1,12}\.[\w+]{1,20})|(?:[0-9]{1,12})|(?:\w+ ?[0-9]*))\] ")
_PAIR = re.compile(r"(\w{2,32})=([0-9]{1,12}):([0-9]{1,12})\(hw\)")
_OTHER_KEY = re.compile(r"[0-9]+")


def score(text: str, daemon: str) -> int:
    """Return how surely this text is the log of this daemon, 0 to 100."""
    if re.search(r"(?m)^ +Loaded: ", text):
        return 0
    points = {"slurmd": 0, "slurmctld": 0}
    lines = 0
    for word in text.split("\n")[:400]:
        line = parse(word[:2000])
        said, message = _said(line)
        lines += bool(word.strip())
        for name in points:
            if name in (said, line.tag) or (name == "slurmd" and said == "slurmstepd"):
                points[name] += 3
            elif line.form != "bare" and line.tag is None and _matched(TABLES[name], message):
                points[name] += 2
    mine, other = points[daemon], points["slurmctld" if daemon == "slurmd" else "slurmd"]
    if mine == 0 or mine < other or (mine == other and daemon == "slurmctld"):
        return 0
    return 91 if mine * 2 >= lines else 62


TABLES: dict[str, tuple[Row, ...]] = {
    "slurmd": _slurm_log_rows.SLURMD,
    "slurmctld": _slurm_log_rows.SLURMCTLD,
}


def _matched(rows: tuple[Row, ...], message: str) -> tuple[Row, t.Match[str]] | None:
    for row in rows:
        if row.hint in message:
            match = row.pattern.search(message)
            if match:
                return row, match
    return None


def _said(line: Line) -> tuple[str | None, str]:
    """Return (daemon that the message names, message without it and without a step)."""
    message, daemon = line.message.strip(), None
    for _attempt in range(3):
        step, named = _STEP.match(message), _DAEMON.match(message)
        if step:
            message = message[step.end() :]
        elif named:
            daemon, message = named.group(1), message[named.end() :]
    return daemon, message


def read(kind: str, daemon: str, data: Data) -> Reading:
    """Read the log of one daemon. Entities: "", `slurm_node:NAME`, `event:N`."""
    log = _Log(kind, daemon)
    for number, line in _kernel_json.lines(data):
        if line.message.strip():
            log.take(number, line)
    return log.finish()


class _Log:
    """Streams; keeps events, counts and the nodes that were named, all bounded."""

    def __init__(self, kind: str, daemon: str) -> None:
        self.reading = Reading(kind, tool_name=daemon)
        self.daemon = daemon
        self.node = self.reading.add(Entity(""))
        self.rows = (*_slurm_log_rows.BOTH, *TABLES[daemon])
        self.levels: dict[str, int] = {}
        self.hosts: list[str] = []
        self.nodes: dict[str, Entity] = {}
        self.events: list[Entity] = []
        self.open: dict[tuple[Value, ...], tuple[Entity, float | None]] = {}
        self.kept: dict[str, int] = {}
        self.lines = self.known = self.starts = self.limited = 0
        self.times: list[str] = []

    def take(self, number: int, line: Line) -> None:
        """Take one line."""
        self.lines += 1
        if line.tag is not None and line.tag not in _TAGS:
            return
        daemon, message = _said(line)
        if line.stamp is not None:
            self.times = [*self.times[:1], line.stamp]
        if line.host and line.host not in self.hosts and len(self.hosts) < 64:
            self.hosts.append(line.host)
        level = _LEVEL.match(message)
        word = re.sub(r"[0-9]", "", level.group(1)) if level else "info"
        message = message[level.end() :] if level else message
        found = _matched(self.rows, message)
        self.known += bool(found or level or daemon or line.tag in ("slurmd", "slurmctld"))
        if line.stamp is not None or daemon or level:
            self.levels[word] = self.levels.get(word, 0) + 1
        if found and found[0].kind.startswith("@"):
            self._fact(found[0].kind, found[1].groupdict())
        elif found:
            self._event(found[0], found[1], number, line.timed(), (word, message))
        elif word in ("fatal", "error", "warning"):
            self._event(None, None, number, line.timed(), (word, message))

    def _fact(self, kind: str, said: dict[str, t.Any]) -> None:
        if kind == "@version":
            self.starts += 1
            self.node.values["slurm_version"] = self.reading.tool_version = said["version"]
            if said.get("cluster"):
                self.node.values["cluster"] = said["cluster"].rstrip(".,")

    def _event(
        self,
        row: Row | None,
        match: t.Match[str] | None,
        number: int,
        line: Line,
        said: tuple[str, str],
    ) -> None:
        values = _values(match) if match else {}
        kind = row.kind if row else "other"
        if row is not None and values.get("node"):
            self._slurm_node(str(values["node"]), kind, values)
        apart = [
            values.get(one) for one in ("node", "file", "job_id", "step", *(row.key if row else ()))
        ]
        # Errors in no table are told apart by their words, without the numbers.
        words = _OTHER_KEY.sub("#", said[1])[:120] if row is None else None
        key = (kind, said[0], line.host, words, *apart)
        known = self.open.get(key)
        if known is not None and _near(known[1], line.time_s):
            event = known[0]
            event.values["count"] = t.cast("int", event.values["count"]) + 1
            event.values["last_time"] = line.stamp or event.values["last_time"]
            self.open[key] = (event, line.time_s)
            return
        if len(self.events) >= MOST_EVENTS or self.kept.get(kind, 0) >= MOST_PER_KIND:
            self.limited += 1
            return
        self.kept[kind] = self.kept.get(kind, 0) + 1
        event = Entity(
            f"event:{len(self.events)}", values={"kind": kind, "level": said[0], "count": 1}
        )
        event.values.update({"first_time": line.stamp, "last_time": line.stamp, "line": number})
        event.values.update({"text": said[1][:300] or None, "host": line.host})
        event.values.update(values)
        self._check_state(event)
        self.events.append(event)
        self.open[key] = (event, line.time_s)

    def _check_state(self, event: Entity) -> None:
        state = event.values.get("state")
        if state is not None and not set(str(state).rstrip("*").split("+")) <= STATES:
            event.notes["state"] = "verbatim"
            if len(self.reading.problems) < 64:
                self.reading.note("unknown_value", "no state that we know", verbatim=state)

    def _slurm_node(self, name: str, kind: str, values: dict[str, Value]) -> None:
        node = self.nodes.get(name)
        if node is None:
            if len(self.nodes) >= MOST_NODES:
                return
            node = self.nodes[name] = Entity(f"slurm_node:{name}")
        if values.get("state"):
            states = t.cast("list[t.Any]", node.values.setdefault("states_set", []))
            if len(states) < MOST_STATES:
                states.append(values["state"])
        if kind in ("node_state_set", "node_reason_set") and values.get("reason"):
            node.values["reason"] = values["reason"]
        if kind == "node_not_responding":
            before = t.cast("int", node.values.get("not_responding_count", 0))
            node.values["not_responding_count"] = before + 1
        for name_of in ("found_count", "configured_count"):
            if values.get(name_of) is not None and values.get("configured_count") is not None:
                node.values[name_of] = values[name_of]

    def finish(self) -> Reading:
        """Return the reading."""
        for one in (*self.nodes.values(), *self.events):
            self.reading.add(one)
        self.node.values.update(
            {
                "line_count": self.lines,
                "level_counts": dict(sorted(self.levels.items())),
                "event_count": len(self.events),
                "start_count": self.starts,
                "hosts": self.hosts,
                "first_time": self.times[0] if self.times else None,
                "last_time": self.times[-1] if self.times else None,
            }
        )
        if self.limited:
            self.reading.note("limited", f"{self.limited} lines of further events are not kept")
        if not self.known:
            code = "other_format" if self.lines else "empty"
            self.reading.note(code, f"no line of {self.daemon}")
            self.reading.quality = UNREADABLE
        return self.reading


def _near(last_s: float | None, time_s: float | None) -> bool:
    return last_s is None or time_s is None or abs(time_s - last_s) <= SILENCE_S


def _values(match: t.Match[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, text in match.groupdict().items():
        field = FIELDS["event"].get(name)
        if field is None or text is None or not text.strip():
            continue
        if field.type is dict:
            pairs = _PAIR.findall(text)
            found[name] = {word: [int(one), int(two)] for word, one, two in pairs if one != two}
        elif name == "state":
            found[name] = text.lower()
        else:
            found[name] = int(text) if field.type is int else text.strip().rstrip(".,")
    return found
