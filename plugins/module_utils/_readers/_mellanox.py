# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What readers of NVIDIA's NIC tools share: the command before an output, its messages.

Private to trackbed.cluster. mlxlink, flint and mlnx_qos do not name what they were asked
about; a log that holds the command does. Messages of mstflint and MFT begin `-E-`, `-W-`
and `-I-` (mstflint, mtcr and common libraries).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    OK,
    PARTIAL,
    Reading,
)

_ASKED = re.compile(r"\s(?:--device|--interface|--dev|-dev|-d|-i)[ =]{1,4}([\w./:,@-]{1,100})")
_ERROR = re.compile(
    r"^(?:-E- |error:|failed to |cannot open |mopen: |traceback \(most recent|"
    r"permission denied|.{0,80}must be run (?:as|with) |missing device argument)",
    re.IGNORECASE,
)
# A line that a loop over devices prints before each output: `=== mlx5_0 ===`.
_BANNER = re.compile(
    r"^(?:[=#*~+-]{2,40} ?([^=#*~+\s-].{0,80}?) ?[=#*~+-]{2,40}|#{2,4} (\S.{0,80}))$"
)
_NAMED = re.compile(
    r"(?:^|[\s(\[])(mlx[45]_[0-9]{1,3}|/dev/mst/[\w.]{1,60}|(?:[0-9a-f]{4}:)?[0-9a-f]{2}:"
    r"[0-9a-f]{2}\.[0-7]|e(?:n|th)\w{1,20}|ib[0-9p]\w{0,14})(?=$|[\s)\],:])"
)
_MESSAGE = re.compile(r"^(?:-[WI]- |warning:|note:)", re.IGNORECASE)
_GAP = re.compile(r"^[\[(<]?(?:\.{3,}|\u2026|snip|\.\.\. ?snip.{0,20})[\])>]?$")


def command(line: str, tools: str) -> str | None:
    """Return what a command line asks about, "" where it does not say; None for other lines.

    `tools` is a pattern such as `mlxlink|mstlink`. A banner counts as a command.
    """
    banner = _BANNER.match(line[:200])
    if banner:
        named = _NAMED.search(banner.group(1) or banner.group(2))
        return named.group(1) if named else ""
    found = re.search(rf"(?:^|[\s/])(?:{tools})(?=\s|$)(.{{0,300}})$", line[:500])
    if found is None or found.group(1).lstrip()[:1] in (":", "="):
        return None
    begins = line[: found.start()].strip()
    if begins and not _is_prompt(begins):
        return None
    asked = _ASKED.search(found.group(1))
    return asked.group(1) if asked else ""


def _is_prompt(begins: str) -> bool:
    """Return whether this is what stands before a command: prompt, sudo, path, trace mark."""
    word = re.sub(
        r"(?:\s|^)(?:sudo(?: -\w{1,9}){0,3}|time|[./~][\w./-]{0,100})$", "", begins
    ).strip()
    return not word or word[-1] in "#$%>+" or word.endswith("]#")


def is_message(reading: Reading, number: int, word: str) -> bool:
    """Return whether the line is a message; an error is kept as a problem."""
    if _ERROR.match(word):
        says = "the tool said an error"
        _plain.note(reading, "tool_error", says, line=number, verbatim=word)
        return True
    if _GAP.match(word):
        _plain.note(reading, "truncated", "lines were left out here", line=number, verbatim=word)
        return True
    return bool(_MESSAGE.match(word)) or _pasted.is_noise(word)


def last_is_cut(reading: Reading, last: int) -> None:
    """Call a malformed last line what it is: the place where the input was cut."""
    if reading.problems and reading.problems[-1].code == "malformed":
        line, verbatim = reading.problems[-1].line, reading.problems[-1].verbatim
        if line == last:
            del reading.problems[-1]
            says = "the input ends within this line"
            _plain.note(reading, "truncated", says, line=line, verbatim=verbatim)


def forget_before(reading: Reading, first: int) -> None:
    """Drop what was said of foreign lines above the first line of this format.

    They are another program's, and nothing of the output is lost with them.
    """
    kept = [
        one
        for one in reading.problems
        if one.code != "malformed" or one.line is None or one.line >= first
    ]
    if len(kept) < len(reading.problems):
        reading.problems[:] = kept
        if not kept and reading.quality == PARTIAL:
            reading.quality = OK


def asks(head: str, tools: str) -> bool:
    """Return whether one of the first lines is a command with one of these tools."""
    return any(
        command(line.strip(), tools) is not None
        for line in head.split("\n", 10)[:10]
        if re.search(tools, line[:500])
    )
