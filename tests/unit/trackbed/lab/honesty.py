"""Comparing what a stand-in prints with what a real program has printed."""

from __future__ import annotations

import json
import re
from typing import Any

# What can have happened to a recording -> what takes the difference away, on both sides.
RECORDING = {
    "errors": lambda text: re.sub(r"^Unable to send command: .*\n", "", text, flags=re.MULTILINE),
    "ends": lambda text: text.strip("\n"),
    "indents": lambda text: re.sub(r"^[ \t]+", "", text, flags=re.MULTILINE),
    "line_ends": lambda text: re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE),
    "colours": lambda text: re.sub(r"\x1b\[[0-9;]*m", "", text),
    "tabs": lambda text: text.expandtabs(8),
    "json": lambda text: json.dumps(json.loads(text), indent=3, sort_keys=True),
    "prompt": lambda text: re.sub(r"\A\$ .*\n", "", text),
}


def even(text: str, document: dict[str, Any]) -> list[str]:
    """Return the lines, without what differs for a reason that the document gives."""
    for happened in document.get("recording", {}):
        text = RECORDING[happened](text)
    for pattern in document.get("volatile", {}):
        text, times = re.subn(pattern, "(volatile)", text, flags=re.MULTILINE)
        assert times, f"nothing matches {pattern}"
    return text.splitlines()
