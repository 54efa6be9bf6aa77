# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes there are and what they are: what the judge knows beside evidence.

Private to trackbed.cluster. Pure: built from the `_meta.hostvars` of
`ansible-inventory --list`.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key

SKU_VAR = "trackbed_sku"


@dataclasses.dataclass(frozen=True)
class Node:
    """One node. `sku` is None where the inventory does not say."""

    name: str
    sku: str | None = None


@dataclasses.dataclass(frozen=True)
class Topology:
    """The nodes of one judgement, in natural order."""

    nodes: tuple[Node, ...]

    @classmethod
    def from_hostvars(
        cls, hostvars: Mapping[str, Mapping[str, t.Any]], names: Iterable[str] | None = None
    ) -> Topology:
        """Return the topology of these nodes.

        `names` says which nodes are asked about; without it, all of `hostvars`
        are. (`ansible-inventory` leaves hosts without variables out of it.)
        """
        wanted = hostvars.keys() if names is None else set(names)
        return cls(
            tuple(
                Node(name, _text(hostvars.get(name, {}).get(SKU_VAR)))
                for name in sorted(wanted, key=natural_key)
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All node names, in natural order."""
        return tuple(node.name for node in self.nodes)

    @functools.cached_property
    def by_sku(self) -> Mapping[str | None, tuple[Node, ...]]:
        """The nodes that should be alike, by SKU, in the order of their first nodes."""
        groups: dict[str | None, list[Node]] = {}
        for node in self.nodes:
            groups.setdefault(node.sku, []).append(node)
        return {sku: tuple(nodes) for sku, nodes in groups.items()}


def _text(value: t.Any) -> str | None:
    """Return a variable's text; Ansible wraps computed text as {"__ansible_unsafe": text}."""
    if isinstance(value, Mapping):
        value = value.get("__ansible_unsafe")
    return str(value) if isinstance(value, str) and value else None
