# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel log lines in any form, cut into stamp, host, tag, level and message.

Private to trackbed.cluster. Forms: dmesg with every --time-format, -x, raw
(`<4>`), /dev/kmsg, syslog of RFC 3164 and 5424, journalctl -o short, short-iso,
short-precise, short-full, short-monotonic, short-unix. Forms of
which the corpus has no sample are written from knowledge of these tools.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _kernel_time
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

# A log is decoded in pieces of this many bytes: 100 MB of it never stand in memory twice.
PIECE = 1 << 20
# printk cuts at about 1 KiB, journald at 48 KiB; what is longer is no log line.
LONGEST = 65_536
# No machine has been up for 28 years, and the year 2000, which stands for no year, is later.
_NO_DATE_FROM_S = 9e8
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_KMSG = re.compile(r"^([0-9]{1,4}),[0-9]{1,20},([0-9]{1,18}),[^;,]{0,16}(?:,[^;]{0,64})?;(.*)$")
_DECODED = re.compile(r"^([a-z0-9]{2,9}) *:([a-z]{3,6}) *: ")
_RAW = re.compile(r"^<([0-9]{1,3})>(?:1 (?=[0-9-]))?")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_ISO = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_STAMPS = (
    ("printk", re.compile(r"^\[ {0,8}([0-9]{1,9}\.[0-9]{6})\](?: |$)")),
    ("delta", re.compile(r"^\[ {0,8}\+([0-9]{1,9}\.[0-9]{6})\](?: |$)")),
    ("iso", re.compile(r"^\[?(" + _ISO + r")\]? ")),
    (
        "ctime",
        re.compile(
            r"^\[(?=[^\]]{0,40}[^\W\d_])([^\[\]]{4,40}[0-9]:[0-9]{2}[^\[\]]{0,16})\](?: "
            r"|$)"
        ),
    ),
    (
        "syslog",
        re.compile(
            r"^((?:[A-Z][a-z]{2} )?" + _MONTH + r" [ 0-9]?[0-9] (?:[0-9]{4} )?"
            r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?) "
        ),
    ),
    ("full", re.compile(r"^[A-Z][a-z]{2} (" + _ISO + r")(?: [A-Z]{3,5})? ")),
    ("unix", re.compile(r"^([0-9]{10}\.[0-9]{6}) ")),
)
# Behind these, blanks belong to the message: AER indents its details.
_BRACKETED = frozenset({"printk", "delta", "ctime"})
_TAG = re.compile(
    r"^([A-Za-z0-9][A-Za-z0-9_.:-]{0,254}(?<!:)) {1,8}"
    r"(?!NVRM|nvidia-nv|mlx5_core|pcieport|EDAC|XFS)"
    r"([A-Za-z][^\s:\[\]]{0,63})(?:\[[0-9]{1,10}\])?: ?"
)
_RFC5424 = re.compile(r"^(\S{1,255}) (\S{1,48}) \S{1,128} \S{1,32} (?:-|\[[^\]]{0,512}\]) ?")
_BARE_TAG = re.compile(r"^(kernel)(?:\[[0-9]{1,10}\])?: ")
_CALLER = re.compile(r"^\[ {0,6}[TC][0-9]{1,8}\] ")
# What a person or a tool puts before a line: `12:`, `messages.1:`, `> `, and log shippers.
_BEFORE = re.compile(r"[:|>*+-] {0,8}(?=[\[A-Z0-9<]|[a-z0-9]{2,9} {0,4}:[a-z]{3,6} {0,4}: )")
_CRI = re.compile(r"^std(?:out|err) [FP] ")
_MOST_LEADS = 4


@dataclasses.dataclass
class Line:
    """One line: `message` is what the kernel said; the rest is None where it is not there."""

    message: str
    form: str = "bare"
    stamp: str | None = None
    host: str | None = None
    tag: str | None = None
    level: str | None = None
    time_s: float | None = None
    dated: bool = False
    """Whether `time_s` counts from 1970."""

    def timed(self) -> Line:
        """Return itself, with the time worked out."""
        if self.stamp is not None and self.time_s is None:
            self.time_s, self.dated = _kernel_time.seconds(self.stamp)
        return self

    @property
    def public_s(self) -> float | None:
        """The time, but None where no year is printed: such a number is no date."""
        is_date_without_year = not self.dated and (self.time_s or 0.0) > _NO_DATE_FROM_S
        return None if is_date_without_year else self.time_s

    @property
    def is_kernel(self) -> bool:
        """Whether the form or the tag says that the kernel wrote this."""
        if self.tag is not None:
            return self.tag == "kernel"
        return self.form in {"printk", "delta", "kmsg", "ctime", "decoded", "json"}


def raw_lines(data: Data) -> t.Iterator[tuple[int, str]]:
    """Yield (1-based line number, line), decoding a piece at a time."""
    if isinstance(data, str) or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        for number, line in numbered_lines(decode(data)):
            yield number, line[:LONGEST]
        return
    start, before = 0, 0
    while start < len(data):
        end = data.find(b"\n", start + PIECE)
        end = len(data) if end < 0 else end + 1
        # The line end of the piece would begin an empty line of its own.
        chunk = data[start:end]
        cut = 2 if chunk.endswith(b"\r\n") else int(chunk.endswith(b"\n"))
        piece = decode(chunk[: len(chunk) - cut])
        number = 0
        for number, line in numbered_lines(piece):
            yield before + number, line[:LONGEST]
        before += number
        start = end


def parse(text: str) -> Line:
    """Cut one line. What is in no known form is `bare`, all of it message."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\t" in text:
        text = text.replace("\t", " ")
    line = _parsed(text)
    if line.form == "bare":
        return _behind_lead(text) or line
    if line.form == "iso" and line.tag is None:
        # A log shipper puts its own time before the line.
        message = _CRI.sub("", line.message)
        inner = _parsed(message)
        return inner if inner.form != "bare" else line
    return line


def _behind_lead(text: str) -> Line | None:
    """Return the line behind a lead, if what is behind it has a known form."""
    head = text[:240]
    # A lead is one word, or a mark of its own: what stands behind a blank is message.
    for count, found in enumerate(_BEFORE.finditer(head)):
        if count >= _MOST_LEADS or " " in head[: found.start()].strip():
            return None
        line = _parsed(text[found.end() :])
        if line.form != "bare":
            return line
    return None


def _parsed(text: str) -> Line:
    text = text.lstrip(" \t")
    kmsg = _KMSG.match(text)
    if kmsg:
        time_s = int(kmsg.group(2)) / 1e6
        level = LEVELS[int(kmsg.group(1)) & 7]
        return Line(kmsg.group(3), "kmsg", f"{time_s:.6f}", level=level, time_s=time_s)
    line = Line(text)
    raw, decoded = _RAW.match(text), _DECODED.match(text)
    if raw:
        line.level = LEVELS[int(raw.group(1)) & 7]
        text = text[raw.end() :]
    elif decoded and decoded.group(2) in LEVELS:
        line.form, line.level = "decoded", decoded.group(2)
        line.tag = "kernel" if decoded.group(1) == "kern" else decoded.group(1)
        text = text[decoded.end() :]
    for form, pattern in _STAMPS:
        found = pattern.match(text)
        if found:
            line.stamp = found.group(1)
            line.form = line.form if line.form == "decoded" else form
            text = text[found.end() :]
            if form not in _BRACKETED:
                text = text.lstrip(" ")  # tabs or columns between stamp, host and tag
            break
    line.message = _untagged(line, text)
    if line.form == "delta":
        line.stamp = None  # it counts from the line before, which may not be in this log
    return line


def _untagged(line: Line, text: str) -> str:
    """Take host and tag off, and the stamp of printk that may stand behind them."""
    # dmesg writes a comma into its ISO times, and no host behind them.
    hostless = line.form in {"ctime", "decoded", "delta"} or "," in (line.stamp or "")
    if line.stamp is not None and not hostless:
        bare, tag = _BARE_TAG.match(text), _TAG.match(text)
        new = _RFC5424.match(text) if line.form == "iso" and tag is None else None
        if bare:
            line.tag, text = "kernel", text[bare.end() :]
        elif line.form == "printk":
            # journalctl -o short-monotonic: only there a host stands behind such a stamp.
            if tag and tag.group(2) in {"kernel", "systemd"}:
                line.host, line.tag, text = tag.group(1), tag.group(2), text[tag.end() :]
        elif tag:
            line.host, line.tag, text = tag.group(1), tag.group(2), text[tag.end() :]
        elif new:
            line.host, line.tag, text = new.group(1), new.group(2), text[new.end() :]
    inner = _STAMPS[0][1].match(text)
    if inner and line.stamp is not None:
        text = text[inner.end() :]
    caller = _CALLER.match(text)
    return text[caller.end() :] if caller else text
