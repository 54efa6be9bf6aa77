# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi, the shell and containers say where no answer comes: texts and exit codes.

Private to trackbed.cluster. Sources: nvidia-smi(1), "RETURN VALUE"; nvml.h, nvmlReturn_t, whose
numbers come through as exit codes; outputs in public issues of NVIDIA's projects.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address

_PCI = r"[0-9A-Fa-f]{3,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
# `GPU 0000:0B:00.0: text`, from 535 on `GPU0000:0B:00.0: text`, then `GPU3: 0000:0B:00.0: text`.
_HANDLE = re.compile(
    r"Unable to (?:determine|detect|get|obtain) the device handle for GPU\s?"
    rf"(?:([0-9]{{1,3}}):\s+)?({_PCI})?[:\s]*(.*)$",
    re.IGNORECASE,
)
_OF_GPU = re.compile(rf"(?:\bGPU:?\s?(?:[0-9]{{1,3}}:\s+)?|^|\bgpu )({_PCI})\b")
# What NVML calls the cause, wherever it stands in a sentence.
_CAUSES: tuple[tuple[str, int | None, str], ...] = (
    ("gpu_lost", 15, r"GPU is lost"),
    ("gpu_requires_reset", 16, r"GPU requires (?:a )?reset|Reset required|requires restart"),
    ("version_mismatch", 18, r"driver/library version mismatch"),
    (
        "library_missing",
        12,
        r"NVML Shared Library Not Found|libnvidia-ml[^ ]{0,20} library in your",
    ),
    ("library_missing", 12, r"libnvidia-ml\.so.{0,60}(?:cannot open|not found|no such file)"),
    ("function_missing", 13, r"Function Not Found|undefined symbol: nvml"),
    ("driver_not_loaded", 9, r"couldn't communicate with the NVIDIA driver|driver not loaded"),
    ("gpu_access_blocked", 17, r"GPU access blocked by the operating"),
    ("no_permission", 4, r"Insufficient Permissions|do(?:es)? not have (?:suitable )?permission"),
    ("power_missing", 8, r"Insufficient External Power|external power cable"),
    ("interrupt_problem", 10, r"Interrupt Request Issue|interrupt issue"),
    ("gpu_in_use", 19, r"In use by another client|is currently (?:being used|in use) by"),
    ("inforom_corrupted", 14, r"(?:info|inf)ROM is corrupted"),
    ("no_mig_devices", 6, r"No MIG-(?:supported|enabled) devices (?:were )?found"),
    ("no_devices", 6, r"No devices (?:were )?found"),
    ("out_of_memory", 20, r"Insufficient Memory|Out of Memory"),
    ("bad_field", 2, r'Field ".{0,100}" is not a valid field'),
    ("bad_argument", 2, r"Invalid combination of input arguments|Option .{1,60} is not recognized"),
    (
        "bad_argument",
        2,
        r"Unrecognized (?:option|argument)|is not a valid (?:power limit|argument)",
    ),
    ("reset_refused", 255, r"GPU Reset couldn't run|Unable to reset|could not be reset: "),
    (
        "mig_failed",
        255,
        r"(?:Unable|Failed) to (?:create|destroy|enable|disable) .{0,20}(?:MIG|instance)",
    ),
    ("not_supported", 3, r"is not supported (?:for|on) |Feature Not Supported"),
)
_SHELL: tuple[tuple[str, int | None, str], ...] = (
    ("tool_missing", 127, r"nvidia-smi['\"\u2019:]*\s?:?\s*(?:command )?not found\b"),
    ("tool_missing", 127, r"command not found: nvidia-smi|Unknown command:? '?nvidia-smi"),
    ("tool_missing", 127, r"nvidia-smi['\"\u2019]?: No such file or directory"),
    ("tool_missing", 127, r"No such file or directory: ['\"]?nvidia-smi"),
    ("tool_missing", 127, r"nvidia-smi.{0,20}executable file not found|no nvidia-smi in \("),
    ("tool_missing", 127, r"nvidia-smi['\"]? is not recognized as"),
    (
        "tool_not_runnable",
        126,
        r"nvidia-smi['\"]?: (?:Permission denied|[Cc]annot execute|Exec format)",
    ),
    ("tool_not_runnable", 126, r"nvidia-smi['\"]?: Input/output error"),
    ("timed_out", 124, r"^timeout: sending signal|nvidia-smi.{0,80}(?:timed out|[Tt]imeout)"),
    ("timed_out", 124, r"timed out after [0-9.]{1,9} ?s|context deadline exceeded"),
    ("crashed", 139, r"[Ss]egmentation fault"),
    ("crashed", 135, r"\bBus error\b"),
    ("crashed", 134, r"\bAborted\b(?: \(core dumped\))?$"),
    ("killed", 137, r"(?:^|\s)Killed(?:\s|$)"),
)
_CONTAINER = (
    r"nvidia-container-cli(?:\.real)?: (?:initialization|detection|device|mount|container) error"
    r"|could not select device driver|unresolvable CDI devices"
)
_NVML = re.compile(
    r"(?:Failed to (?:initialize|properly shut ?down) NVML|nvml error):\s*(.{1,100})$",
    re.IGNORECASE,
)
_Known = t.Tuple[t.Tuple[str, t.Optional[int], t.Pattern[str]], ...]
_CAUSED: _Known = tuple(
    (code, exit_code, re.compile(text, re.I)) for code, exit_code, text in _CAUSES
)
_SHELLED: _Known = tuple((code, exit_code, re.compile(text)) for code, exit_code, text in _SHELL)
_IN_CONTAINER = re.compile(_CONTAINER)
_FAILED = re.compile(r"^NVIDIA-SMI (?:has failed|couldn't)")
# A sentence that is an error, of which we do not know the cause.
_UNKNOWN = re.compile(r"^(?:Unable to |Failed to |ERROR: |Error: )")
NAMES = tuple(
    sorted(
        {code for code, _exit, _text in (*_CAUSES, *_SHELL)}
        | {"gpu_not_found", "gpu_not_answering", "initialize_failed", "container_failed", "failed"}
        | {"other"}
    )
)
# Of every text of no device: the driver answered, and what it says is that there is none.
ABSENCES = frozenset({"tool_missing", "no_devices"})


@dataclasses.dataclass(frozen=True)
class Message:
    """One sentence that was understood."""

    code: str
    exit_status: int | None
    pci: str | None = None
    index: int | None = None
    text: str | None = None
    """The driver's own words, where its cause is not of a known kind."""

    @property
    def path(self) -> str | None:
        """The GPU that it is of: by its address, else by its index."""
        if self.pci:
            return f"gpu:{self.pci}"
        return None if self.index is None else f"gpu:{self.index}"


def understand(line: str) -> Message | None:
    """Return what a line says; None for a line that is no message of these."""
    word = line.strip()[:1000]
    handle = _HANDLE.search(word)
    if handle:
        return _of_handle(*handle.groups())
    cause, status = _cause(word, _SHELLED)
    if cause:
        return Message(cause, status)
    found = _OF_GPU.search(word)
    address = pci_address(found.group(1)) if found else None
    cause, status = _cause(word, _CAUSED)
    return Message(cause, status, address) if cause else _of_unknown_cause(word, address)


def _of_unknown_cause(word: str, address: str | None) -> Message | None:
    nvml = _NVML.search(word)
    if nvml:
        return Message("initialize_failed", 255, address, text=nvml.group(1).strip())
    if _IN_CONTAINER.search(word):
        return Message("container_failed", None)
    if _FAILED.match(word):
        return Message("failed", 255, address, text=word[:200])
    return Message("other", 255, address, text=word[:200]) if _UNKNOWN.match(word) else None


def _cause(word: str, known: _Known) -> tuple[str | None, int | None]:
    return next(
        ((code, exit_code) for code, exit_code, one in known if one.search(word)), (None, None)
    )


def _of_handle(index: str | None, address: str | None, text: str) -> Message:
    code, exit_code = _cause(text, _CAUSED)
    if code is None and re.match(r"^(?:Not Found|No such device)", text, re.IGNORECASE):
        code, exit_code = "gpu_not_found", 6
    said = text.strip().rstrip(".") or None
    return Message(
        code or "gpu_not_answering",
        exit_code or 255,
        pci_address(address or ""),
        int(index) if index else None,
        None if code else said,
    )
