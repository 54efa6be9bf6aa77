# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a match of a row to the values of an event. Private to trackbed.cluster."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_fields import EVENT
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import Row
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Value

# Groups that gather in a list of the burst.
GATHERED = {"pid": "pids", "process_name": "process_names", "other_name": "process_names"}
GATHERED["cpu"] = "cpus"
MOST_GATHERED = 32
MOST_SITES = 64
_TRUE = frozenset({"yes", "fatal"})


class Found:
    """What one line says: `values` of single fields, `gathered` ones, and the identity."""

    def __init__(self, row: Row, match: t.Match[str]) -> None:
        self.values: dict[str, Value] = {}
        self.gathered: dict[str, Value] = {}
        self.strange: dict[str, str] = {}
        """Field -> text that is none of the values of its enumeration."""
        self.bit: tuple[str, int, bool] | None = None
        self.site: str | None = None
        self.pci: str | None = None
        groups = {name: text for name, text in match.groupdict().items() if text is not None}
        rest = groups.pop("rest", "")
        for inner in row.inner:
            deeper = inner.pattern.search(rest) if inner.hint in rest else None
            if deeper:
                new = {name: text for name, text in deeper.groupdict().items() if text is not None}
                groups = {**new, **groups}
                break
        self._identity(groups)
        self._compound(groups)
        for name, text in groups.items():
            self._put(name, text.strip())

    def _identity(self, groups: dict[str, str]) -> None:
        """Take the device: an interface or a disk by its name, else the PCI address."""
        word = groups.pop("pci", None)
        device = groups.pop("device", None) or groups.get("interface")
        if device and pci_address(device):
            word, device = device, None
        self.pci = pci_address(word)
        if word and not self.pci:
            self.strange["device"] = word.lower()
        self.values["device"] = device or self.pci or (word.lower() if word else None)

    def _compound(self, groups: dict[str, str]) -> None:
        if "gpc" in groups:
            self.site = "/".join(str(int(groups.pop(one))) for one in ("gpc", "tpc", "sm"))
        if "bit_name" in groups:
            name, first = groups.pop("bit_name"), groups.pop("first", None) is not None
            self.bit = (name.strip(), int(groups.pop("bit")), first)
        for name, text in list(groups.items()):
            if name in GATHERED:
                del groups[name]
                if text.strip():
                    number = name in ("pid", "cpu")
                    self.gathered[GATHERED[name]] = int(text) if number else text.strip()

    def _put(self, name: str, text: str) -> None:
        field = EVENT.get(name)
        if field is None or not text:
            return
        if field.type is bool:
            self.values[name] = text.lower() in _TRUE or name.startswith("is_")
        elif field.type is int:
            self.values[name] = int(text)
        elif field.type is float:
            self.values[name] = float(text)
        elif field.type is list:
            self.values[name] = [one for one in re.split(r"[ ,]+", text) if one][:16]
        elif field.values is not None:
            word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
            known = word in field.values
            self.values[name] = word if known else text
            if not known:
                self.strange[name] = text
        else:
            self.values[name] = text


def gather(values: dict[str, Value], found: Found) -> None:
    """Add to the lists and tables of a burst what one line gives."""
    for name, value in found.gathered.items():
        have = t.cast("list[t.Any]", values.setdefault(name, []))
        if value not in have and len(have) < MOST_GATHERED:
            have.append(value)
    if found.site is not None:
        sites = t.cast("dict[str, t.Any]", values.setdefault("sites", {}))
        if found.site in sites or len(sites) < MOST_SITES:
            sites[found.site] = sites.get(found.site, 0) + 1
    if found.bit is not None:
        name, number, first = found.bit
        bits = t.cast("dict[str, t.Any]", values.setdefault("bits", {}))
        if len(bits) < MOST_GATHERED:
            bits[name] = number
        if first:
            values.setdefault("first_bit", name)
