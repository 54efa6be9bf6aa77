# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of dcgmi's texts share: lines of tables, errors in place of an answer.

Private to trackbed.cluster. Source: NVIDIA/DCGM, dcgmi/Command.cpp and its neighbours.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

# Every subcommand says these where the host engine does not answer.
_NO_ENGINE = re.compile(
    r"[Uu]nable to establish a connection to the specified host"
    r"|Unable to connect to host engine|Host engine connection invalid"
)
_ERROR = re.compile(r"^(?:Error\b(?! Detail)|Err: |Unable to |Could not |Cannot |Failed to )")
_COMMAND = re.compile(r"\bdcgmi\s+(discovery|diag|nvlink|-v\b|--version|[a-z]{2,12})")
# A drawn line, and the command itself without a prompt before it.
_RULE = re.compile(
    r"^(?:\+[-=+]*\+?|(?:sudo |timeout \S+ |/usr/bin/)*(?:dcgmi|nv-hostengine) (?!version:).*)$"
)


def lines(data: Data) -> list[tuple[int, str]]:
    """Return the lines that hold anything; bars at their beginnings are those of tables."""
    return _pasted.lines(data, bars=True)


def head(text: str) -> str:
    """Return the lines that recognition looks at, as one text."""
    return _pasted.text_of(text[:20000], bars=True)


def is_rule(line: str) -> bool:
    """Return whether the line is drawn, or the command or the shell's, and says nothing."""
    return bool(_RULE.match(line.strip())) or _pasted.is_noise(line)


def error(reading: Reading, number: int, line: str) -> bool:
    """Record an error that dcgmi reports, and return whether this line is one."""
    word = line.strip()
    if not _ERROR.match(word):
        return False
    _plain.note(reading, "tool_error", "dcgmi reported an error", line=number, verbatim=word)
    return True


def only_error(text: str, command: str, own: str, otherwise: int) -> int:
    """Return how surely a text without any output is the error of this subcommand.

    The command that was typed tells, or words that only it says (`own`); `otherwise` is
    the answer for words that every subcommand says.
    """
    found = [line.strip() for _number, line in _pasted.lines(text[:4000], bars=True)]
    said = [line for line in found if not is_rule(line)]
    errors = sum(bool(_ERROR.match(line)) for line in said)
    if not errors or errors * 2 < len(said):
        return 0
    typed = _COMMAND.search(text[:2000])
    if typed:
        return 88 if typed.group(1) == command else 0
    if re.search(own, text[:4000]):
        return 88
    return otherwise if _NO_ENGINE.search(text[:4000]) else 0
