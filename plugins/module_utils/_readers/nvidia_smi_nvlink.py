# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi nvlink`: state, errors, abilities, far ends and traffic of each link.

Format: `GPU <n>: <name> (UUID: ...)`, then a line or several for each link, which tell
the option: -s speed or `<inactive>`, -e counters, -c abilities, -R far end, -gt traffic,
-info firmware. Counters have other names from Blackwell on; those that are not known
are kept under `other`. Outputs of several options in one text are merged. A GPU in MIG
mode cannot be asked, one without NVLink says so; both are no links that are down.
Seen: V100 to B300, drivers to 595. Source: nvidia-smi(1), nvlink; speeds are of one direction.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_text,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvlink import Links
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvlink_fields import (
    FIELDS,
    STATUS,
    status_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Reading,
    failed,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence, decode

KIND = "nvidia-smi-nvlink"
TITLE = "nvidia-smi nvlink: links between GPUs and switches"
VERSIONS = "V100 to B300, drivers to 595: -s, -e, -c, -R, -gt, -info"
SOURCES = (
    "nvidia-smi(1), nvlink",
    "https://github.com/NVIDIA/k8s-test-infra/issues/371",
    "https://github.com/Azure/azhpc-diagnostics/issues/73",
)
PROVEN = True
__all__ = ["FIELDS", "KIND", "PROVEN", "SOURCES", "TITLE", "VERSIONS", "read", "recognise"]
_GPU = re.compile(r"(?:^|[\s>])GPU ([0-9]{1,4}): (\S.{0,120}?)(?:\s*\(UUID: ?([^()]{0,64})\)?)?$")
_LINK = re.compile(r"(?:^|[\s>])Link ([0-9]{1,3})(?::|, ?)\s*(\S.{0,160})$")
# The line of one link whose rest nothing else prints.
_SURE = re.compile(
    r"(?:^|[\s>])Link [0-9]{1,3}(?:"
    r": (?:[0-9.]{1,12} GB/s|<inactive>|Remote Device|(?:Raw|Data) [RT]x: "
    r"|[A-Za-z][\w /-]{2,40}(?:Errors|BER|events|discards|packets|bytes)(?: - [0-9]{1,2})?: \S)"
    r"|, [A-Z][\w ]{2,40} (?:is )?supported: )"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    gpus = links = 0
    for _number, line in _nvidia_text.clean_lines(text):
        word = line.strip()
        gpus += bool(_GPU.search(word)) and "UUID" in word
        links += bool(_SURE.search(word))
        status = status_of(word)
        if (gpus and (links or (status and status != "unreadable"))) or links >= 3:
            return 97
        if gpus and re.match(r"NVLE:|NVLink (?:Encryption|Version|BW)", word):
            return 97
    return 60 if links else 0


def read(data: Data) -> Reading:
    """Read one output or several. Entities: "" with counts, `gpu:N`, `gpu:N/nvlink:L`."""
    text = decode(data)
    if not text.strip():
        says = "nothing was printed: older drivers do so for GPUs without NVLink"
        return failed(KIND, ABSENT, "empty", says)
    scan = _Scan()
    for number, line in _nvidia_text.clean_lines(text):
        if line.strip():
            scan.take(number, line)
    return scan.finish(text)


class _Scan:
    """Goes through the lines once."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nvidia-smi")
        self.node = self.reading.add(Entity(""))
        self.links = Links(self.reading)
        self.gpu: Entity | None = None
        self.elided = False
        self._last = ""

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        word = line.strip()
        self._last = word
        gpu, link = _GPU.search(word), _LINK.search(word)
        if link and not (gpu and "UUID" in word):
            self._link(number, int(link.group(1)), link.group(2).strip())
        elif gpu:
            self._start(number, int(gpu.group(1)), gpu.group(2), gpu.group(3))
        elif _nvidia_text.is_elision(word):
            self.elided = True
            _plain.note(self.reading, "truncated", "lines were left out here", line=number)
        elif self.gpu is not None and status_of(word):
            self._status(number, status_of(word) or "", word)
        elif self.gpu is not None and self.links.of_gpu(self.gpu, word):
            return
        elif not _nvidia_text.error_of_tool(self.reading, number, word):
            self._other(number, word)

    def _start(self, number: int, index: int, name: str, uuid: str | None) -> None:
        path = f"gpu:{index}"
        uuid = uuid if uuid and uuid.startswith("GPU-") else None
        known = self.reading.entity(path)
        if known is None:
            known = self.reading.add(Entity(path, {"uuid": uuid}, {"name": name}))
            if absence(name):
                known.values["name"], known.notes["name"] = None, "unreadable"
                _nvidia_text.unreadable(self.reading, path, [("name", name)], number)
        elif uuid and known.ids.get("uuid") not in (None, uuid):
            says = f"{path} appears with two UUIDs; the first is kept"
            _plain.note(self.reading, "inconsistent", says, line=number, verbatim=uuid)
            known = Entity(path)  # what follows is of another node: it is not kept
        self.links.start(known)
        self.gpu = known

    def _link(self, number: int, index: int, rest: str) -> None:
        if self.gpu is None:  # -c of old drivers for one GPU prints no header
            self.gpu = self.reading.add(Entity("gpu:0", {"uuid": None}, {"name": None}))
            self.links.start(self.gpu)
            says = "links without a line `GPU <n>: ...` above; they are put to GPU 0"
            _plain.note(self.reading, "missing_value", says, line=number, entity="gpu:0")
        self.links.take(self.gpu, number, index, rest)

    def _status(self, number: int, status: str, word: str) -> None:
        gpu = self.gpu or Entity("")
        gpu.values["nvlink_status"] = status
        if status == "all_inactive":
            gpu.values["nvlink_active_count"] = 0
        elif status != "not_supported":
            says = f"the links of {gpu.path} could not be asked: {STATUS[status]}"
            where = {"line": number, "entity": gpu.path, "field": "nvlink_count"}
            _plain.note(self.reading, "unreadable_value", says, verbatim=word, **where)

    def _other(self, number: int, word: str) -> None:
        if not _nvidia_text.is_frame(word):
            wanted = "a line of a GPU or of one of its links"
            _plain.malformed(self.reading, number, word, wanted)

    def finish(self, text: str) -> Reading:
        """Sum up."""
        gpus = [one for one in self.reading.entities if re.match(r"gpu:[0-9]+$", one.path)]
        if not gpus:
            self.reading.entities.remove(self.node)
            return _nvidia_text.nothing(self.reading, "`GPU <n>: ...` with links", text)
        if not text.endswith("\n") and re.match(r"^(?:GPU?|L|Li|Lin|Link) ?[0-9]*:?$", self._last):
            self.elided = True
            self.reading.note("truncated", "the last line is cut", verbatim=self._last)
        self.links.sum_up(gpus)
        self.node.values.update(self.links.counts(gpus, self.elided))
        if all(one.values.get("nvlink_status") == "not_supported" for one in gpus):
            says = "no GPU of this output has NVLink"
            self.reading.note("missing_value", says, field="nvlink_count")
            _nvidia_text.not_applicable(self.reading)
        return self.reading
