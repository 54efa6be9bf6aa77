# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dmidecode`: what the firmware says about the machine and its parts.

Format: structures, each `Handle 0x0011, DMI type 17, 92 bytes`, a title and indented
`Label: value` lines; -q leaves the handles out, 2.x below 2.9 writes them over two lines.
A DIMM's locator alone may not be unique (AMD: `DIMM 0` in every channel): then the bank is part
of its name. Versions: dmidecode 2.7 to 3.6. Source: dmidecode(8), DMTF DSP0134.
"""

from __future__ import annotations

import re
from collections import Counter

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dmi_values,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._dmi_fields import (
    NO_VALUE,
    OTHERS,
    STRUCTURES,
    fields_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dmidecode"
TITLE = "Machine, processors, memory and slots by dmidecode"
VERSIONS = "dmidecode 2.7 to 3.6"
SOURCES = ("https://www.nongnu.org/dmidecode/", "https://www.dmtf.org/standards/smbios (DSP0134)")
PROVEN = True
FIELDS = {
    "node": {
        "smbios_version": Field(str, "version of the firmware's tables"),
        "structure_count": Field(int, "structures that the firmware announces"),
        "cpu_socket_count": Field(int, "processor sockets, filled or not"),
        "cpu_package_count": Field(int, "processors that are there"),
        "dimm_slot_count": Field(int, "memory slots, filled or not"),
        "dimm_count": Field(int, "memory modules that are there"),
        "memory_total_mib": Field(int, "sum of their sizes", "MiB"),
        "empty_dimm_slots": Field(list, "slots without a module"),
        "dimm_capacities_mib": Field(list, "different sizes of modules; more than one: mixed"),
        "dimm_part_numbers": Field(list, "different part numbers of modules"),
        "dimm_speeds_mt_s": Field(list, "different speeds that modules run at"),
    }
}
for _structure in STRUCTURES.values():
    FIELDS.setdefault(_structure.entity or "node", {}).update(fields_of(_structure))
FIELDS["dimm"]["populated"] = Field(bool, "a module is in the slot")
FIELDS["cpu"]["populated"] = Field(bool, "a processor is in the socket")
FIELDS["cpu"]["enabled"] = Field(bool, "the firmware has switched it on")
FIELDS["slot"]["in_use"] = Field(bool, "a card is in the slot")

_HANDLE = re.compile(
    r"^Handle 0x([0-9A-Fa-f]{4,8})(?:, DMI type ([0-9]{1,3}), ([0-9]{1,5}) bytes\.?)?$"
)
_OLD_TYPE = re.compile(r"^DMI type [0-9]{1,3}, [0-9]{1,5} bytes\.?$")
_TOOL = re.compile(r"^# dmidecode ([0-9][0-9A-Za-z.-]{0,20})")
_SMBIOS = re.compile(r"^SMBIOS ([0-9.]{1,12}) present\.")
_COUNT = re.compile(r"^([0-9]{1,5}) structures occupying [0-9]{1,7} bytes\.")
_PREAMBLE = re.compile(
    r"^(?:#|Getting SMBIOS data|Scanning /dev/mem|Reading SMBIOS/DMI|Table at 0x|Legacy DMI"
    r"|DMI [0-9.]+ present|EFI: SMBIOS|End Of Table|Can't decode)"
)
_BROKEN = re.compile(r"^(?:Invalid entry length|Wrong DMI structures|<TRUNCATED>|.{0,40}checksum)")
_NO_ACCESS = re.compile(r"(?:Permission denied|Operation not permitted|Can't read memory from)")
_NO_TABLE = re.compile(r"No SMBIOS nor DMI entry point found|/dev/mem: No such file")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    text = _pasted.text_of(text)
    if re.search(r"(?m)^\s*Handle 0x[0-9A-Fa-f]{4}(?:, DMI type|\s*\n\s*DMI type)", text):
        return 97
    if _NO_TABLE.search(text[:2000]) or re.search(r"(?m)^# dmidecode [0-9]", text[:4000]):
        return 95
    titles = "BIOS Information|System Information|Memory Device|Processor Information"
    found = re.search(
        rf"(?m)^\s*(?:{titles})\n\s+(?:Vendor|Manufacturer|Total Width|.*Handle|Soc)", text
    )
    return 85 if found else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `baseboard:N`, `cpu:<socket>`, `dimm:<locator>`.

    `slot:...`.
    """
    table = _Table()
    for number, line in _pasted.lines(data):
        table.take(number, line)
    return table.finish()


class _Block:
    """One structure as it was printed."""

    def __init__(self, line: int, handle: str | None) -> None:
        self.line, self.handle = line, handle
        self.title = ""
        self.labels: dict[str, tuple[str, int]] = {}


class _Table:
    """Collects structures."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="dmidecode")
        self.node = Entity("")
        self.blocks: list[_Block] = []
        self.untitled = self.ended = self.refused = self.none = False

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        word = line.strip()
        if self.refused is False and (_NO_ACCESS.search(word) or _NO_TABLE.search(word)):
            self._refused(number, word)
            return
        handle = _HANDLE.match(word)
        if handle:
            self.blocks.append(_Block(number, handle.group(1).lower()))
            self.untitled = True
        elif _BROKEN.match(word):
            says = "the firmware's table is broken; structures may be missing"
            _plain.note(self.reading, "malformed", says, line=number, verbatim=word)
        elif self._head(word) or _OLD_TYPE.match(word):
            self.untitled = self.untitled and bool(self.blocks)
        elif self.untitled:
            self.blocks[-1].title, self.untitled = word, False
        elif word in STRUCTURES or word in OTHERS:
            self.blocks.append(_Block(number, None))
            self.blocks[-1].title = word
        else:
            self._label(number, line, word)

    def _head(self, word: str) -> bool:
        """Read a line of the preamble; return whether it is one."""
        tool, smbios, count = _TOOL.match(word), _SMBIOS.match(word), _COUNT.match(word)
        if tool:
            self.reading.tool_version = tool.group(1)
        if smbios:
            self.node.values["smbios_version"] = smbios.group(1)
        if count:
            self.node.values["structure_count"] = int(count.group(1))
        if word == "End Of Table":
            self.ended, self.untitled = True, False
        return bool(tool or smbios or count or _PREAMBLE.match(word))

    def _refused(self, number: int, word: str) -> None:
        self.none = bool(_NO_TABLE.search(word))
        self.refused = not self.none
        says = "dmidecode could not read the firmware's tables; it must run as root"
        code = "no_access"
        if self.none:
            says, code = (
                "this machine shows no SMBIOS tables (a container, or no x86/ARM server)",
                "tool_error",
            )
        _plain.note(self.reading, code, says, line=number, verbatim=word)

    def _label(self, number: int, line: str, word: str) -> None:
        name, mark, value = word.partition(":")
        if self.blocks and mark and name.strip():
            self.blocks[-1].labels.setdefault(name.strip(), (value.strip(), number))
        elif not self.blocks and not _pasted.is_noise(line):
            _plain.malformed(self.reading, number, line, "a line of dmidecode")
        # Else an item of a list below a label: flags, characteristics.

    def finish(self) -> Reading:
        """Turn the structures into entities."""
        reading = self.reading
        wanted = [one for one in _once(self.blocks) if one.title in STRUCTURES]
        if not self.blocks:
            if self.refused or self.none:
                reading.quality = ABSENT if self.none else ERROR
                return reading
            return _plain.nothing(reading, "`Handle 0x0000, DMI type ...`")
        reading.add(self.node)
        names = _names(wanted)
        for block, name in zip(wanted, names):
            _structure_entity(reading, self.node, block, name)
        last = self.blocks[-1]
        if not self.ended and not last.labels and last.title not in OTHERS:
            _plain.note(reading, "truncated", "the last structure holds nothing", line=last.line)
        self._counts()
        return reading

    def _counts(self) -> None:
        """Derive the node's counts, and compare what the firmware announces with what is there."""
        values = self.node.values
        cpus = [one for one in self.reading.entities if one.path.startswith("cpu:")]
        if cpus:
            values["cpu_socket_count"] = len(cpus)
            values["cpu_package_count"] = sum(one.values.get("populated") is True for one in cpus)
        dimms = [one for one in self.reading.entities if one.path.startswith("dimm:")]
        if dimms:
            _dmi_values.count_memory(values, dimms)
        arrays = [one for one in self.reading.entities if one.path.startswith("memory_array:")]
        slots = [one.values.get("dimm_slot_count") for one in arrays]
        announced = sum(one for one in slots if isinstance(one, int))
        if dimms and arrays and announced != len(dimms):
            says = f"{announced} memory slots are announced, {len(dimms)} are listed"
            _plain.note(self.reading, "inconsistent", says)
        whole = values.get("structure_count")
        if self.ended and isinstance(whole, int) and len(self.blocks) < whole - 1:
            says = f"{whole} structures are announced, {len(self.blocks)} are listed"
            _plain.note(self.reading, "inconsistent", says)


def _once(blocks: list[_Block]) -> list[_Block]:
    """Return the structures without those that two outputs in one file both tell."""
    kept: dict[str, _Block] = {}
    for block in blocks:
        words = sorted((label, word) for label, (word, _line) in block.labels.items())
        key = f"{block.handle} {block.title} {words}" if block.handle else f"line {block.line}"
        kept.setdefault(key, block)
    return list(kept.values())


def _names(blocks: list[_Block]) -> list[str]:
    """Return a path for each structure; unique where the firmware's own names are not."""
    short = [_path(block, 1) for block in blocks]
    uses = Counter(short)
    names: list[str] = []
    counts: Counter[str] = Counter()
    for block, plain in zip(blocks, short):
        entity = STRUCTURES[block.title].entity
        name = _path(block, 2) if plain and uses[plain] > 1 else plain
        if entity and not name:
            name = f"{entity}:{counts[entity]}"
            counts[entity] += 1
        elif name:
            counts[name] += 1
            if counts[name] > 1:
                name = f"{name}_{block.handle or counts[name]}"
        names.append(name)
    return names


def _path(block: _Block, most: int) -> str:
    """Return `dimm:A1`, with the bank before it where `most` is 2; "" where it has no name."""
    structure = STRUCTURES[block.title]
    words = [block.labels.get(label, ("", 0))[0] for label in structure.named_by[:most]]
    words = [re.sub(r"[\s/:]+", "_", one) for one in words if one and one.lower() not in NO_VALUE]
    return f"{structure.entity}:{'_'.join(reversed(words))[:80]}" if words else ""


def _structure_entity(reading: Reading, node: Entity, block: _Block, name: str) -> None:
    structure = STRUCTURES[block.title]
    entity = reading.add(Entity(name), block.line) if structure.entity else node
    for label, (word, number) in block.labels.items():
        if label in structure.ids:
            _dmi_values.identify(entity, structure.ids[label], word)
        elif label in structure.rows:
            value_name, reader = structure.rows[label][:2]
            _dmi_values.put(reading, entity, value_name, word, reader, number)
    if structure.entity in _dmi_values.DERIVED:
        _dmi_values.DERIVED[structure.entity](entity, block.labels)
    if any(label not in block.labels for label in structure.whole):
        says = f"{block.title} lacks {', '.join(structure.whole)}"
        where = {"line": block.line, "entity": entity.path}
        _plain.note(reading, "truncated", says, **where)
