# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `scontrol show node` and `sinfo` have in common. Private to trackbed.cluster.

Node states: one base state and flags. `scontrol` and JSON write the flags out
(`IDLE+DRAIN`), `sinfo` shows one word and a mark (`drained*`). Source: sinfo(1),
"NODE STATE CODES"; scontrol(1).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Field

# The mark behind a state -> the flag that it stands for.
MARKS = {
    "*": "not_responding",
    "~": "powered_down",
    "#": "powering_up",
    "!": "power_down",
    "%": "powering_down",
    "$": "maintenance",
    "@": "reboot_requested",
    "^": "reboot_issued",
    "-": "planned",
}
_STATE_WORDS = """
    allocated alloc completing comp down drain drained draining drng fail failing failg future futr
    idle inval invalid maint mixed mix no_respond npc perfctrs planned plnd power_down power_up
    powered_down powering_down powering_up pow_dn pow_up reboot reboot_issued reboot_requested
    reserved resv unk unknown blocked block error cloud not_responding invalid_reg dynamic_norm
    dynamic_future maintenance
"""
STATES = frozenset(_STATE_WORDS.split())
NODE_FIELDS = {
    "state": Field(str, "base state, such as idle, mixed, allocated, down, unknown"),
    "state_flags": Field(list, "what holds beside it, such as drain, not_responding, completing"),
    "draining_or_drained": Field(bool, "gets no new job: drain, drained or draining"),
    "not_responding": Field(bool, "slurmctld cannot reach slurmd"),
    "reason": Field(str, "why it is down or drained; null where none is given"),
    "reason_by": Field(str, "who set the reason"),
    "reason_time": Field(str, "when the reason was set, in the controller's local time"),
    "gres": Field(str, "generic resources, as printed"),
    "gpu_count": Field(int, "GPUs by Gres"),
    "gpu_type": Field(str, "type of GPU by Gres; null where it is not given or differs"),
}
_GPU = re.compile(r"(?:^|,)gpu(?::([A-Za-z_][^:,()=]{0,60}))?(?:[:=]([0-9]{1,6}))?(?=[,(]|$)")


def put_state(entity: Entity, text: str) -> None:
    """Set state and flags from `MIXED+DRAIN`, `IDLE*+DRAIN` or `drained*`."""
    flags = []
    words = []
    for part in text.strip().split("+"):
        word = part.lower()
        while word and word[-1] in MARKS:
            flags.append(MARKS[word[-1]])
            word = word[:-1]
        if word:
            words.append(word)
    flags = words[1:] + flags
    entity.values["state"] = words[0] if words else None
    entity.values["state_flags"] = flags
    entity.values["not_responding"] = "not_responding" in flags
    drains = {"drain", "drained", "draining", "drng"}
    entity.values["draining_or_drained"] = bool(drains & {*words, *flags})


def put_gres(entity: Entity, text: str | None) -> None:
    """Set gres, gpu_count and gpu_type from `gpu:h100:8(S:0-1),nic:2` or `(null)`."""
    none = text is None or text.strip().lower() in ("", "(null)", "n/a", "none")
    entity.values["gres"] = None if none else t.cast("str", text).strip()
    found = [] if none else list(_GPU.finditer(t.cast("str", text).strip()))
    entity.values["gpu_count"] = sum(int(one.group(2) or 1) for one in found)
    kinds = {one.group(1) for one in found}
    entity.values["gpu_type"] = kinds.pop() if len(kinds) == 1 else None


def is_state(text: str) -> bool:
    """Return whether every part of `text` is a state or flag that Slurm knows."""
    parts = [one.rstrip("*~#!%$@^-").lower() for one in text.split("+")]
    return all(one in STATES for one in parts)


def none_of(text: str | None) -> str | None:
    """Return None for what Slurm prints where there is nothing."""
    word = (text or "").strip()
    return None if word.lower() in ("", "(null)", "n/a", "n/s", "none", "unknown") else word
