# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster file (`*.trackbed.yml`): from its mapping to nodes. Private to trackbed.cluster.

Pure: the caller reads the file. Every refusal says where (file and line), what
was found, what was wanted, and what to do.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing as t
from collections.abc import Iterator, Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import meant, unknown_keys
from ansible_collections.trackbed.cluster.plugins.plugin_utils._ranges import RangeError, expand
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import Sku
from ansible_collections.trackbed.cluster.plugins.plugin_utils._source import Source

KEYS = ("plugin", "cluster", "journal", "nodes")
ENTRY_KEYS = ("names", "sku", "vars")
OWN_VARS = ("trackbed_cluster", "trackbed_journal", "trackbed_sku")
# One file describes one fabric. The largest published single training cluster
# is near 25,000 nodes of eight; ten times that in one file is a mistyped range.
MAX_NODES = 250_000

_CLUSTER_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXAMPLE = 'names: "gpu-[001:064]", sku: h100-sxm'


class ClusterError(ValueError):
    """The cluster file is wrong."""


@dataclasses.dataclass(frozen=True)
class Node:
    """One node as the file describes it."""

    name: str
    sku: str
    variables: Mapping[str, t.Any]
    entry: int
    """Index of the item of `nodes` that it comes from."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """What one cluster file says."""

    name: str
    journal: str
    """As written: relative paths start at the file's directory."""
    nodes: tuple[Node, ...]


def parse_cluster(
    raw: object, source: Source, skus: Mapping[str, Sku], allowed: tuple[str, ...] = ()
) -> Cluster:
    """Return the cluster that `raw`, the loaded file, describes. Raises ClusterError.

    `allowed` names further keys that belong to the inventory plugin (compose, cache, …).
    """
    top = _mapping(raw, source, (), "a mapping with cluster and nodes")
    _refuse_unknown(top, (*KEYS, *allowed), source, ())
    name = _required(top, "cluster", source, ())
    if not isinstance(name, str) or not _CLUSTER_NAME.fullmatch(name):
        raise _error(
            source,
            ("cluster",),
            f"cluster: {name!r}",
            "a name of lower-case letters, digits and inner hyphens, 63 at most",
        )
    journal = top.get("journal", f"{name}.journal.sqlite")
    if not isinstance(journal, str) or not journal.strip():
        raise _error(source, ("journal",), f"journal: {journal!r}", "the path of a file")
    return Cluster(name, str(journal), tuple(_nodes(top, source, skus)))


def to_record(cluster: Cluster) -> dict[str, t.Any]:
    """Return what a cache may keep: plain names, never the variables (they may hold secrets)."""
    return {
        "name": cluster.name,
        "journal": cluster.journal,
        "nodes": [[node.name, node.sku, node.entry] for node in cluster.nodes],
    }


def from_record(record: Mapping[str, t.Any], raw: Mapping[str, t.Any]) -> Cluster:
    """Return the cluster that `to_record` kept of this same file, with the variables of `raw`."""
    variables = [types.MappingProxyType(dict(entry.get("vars") or {})) for entry in raw["nodes"]]
    nodes = (Node(name, sku, variables[entry], entry) for name, sku, entry in record["nodes"])
    return Cluster(record["name"], record["journal"], tuple(nodes))


def _nodes(top: Mapping[str, t.Any], source: Source, skus: Mapping[str, Sku]) -> Iterator[Node]:
    entries = _required(top, "nodes", source, ())
    if not isinstance(entries, list) or not entries:
        raise _error(source, ("nodes",), "nodes: no list of node groups", f"- {_EXAMPLE}")
    seen: dict[str, tuple[str | int, ...]] = {}
    for index, raw in enumerate(entries):
        at: tuple[str | int, ...] = ("nodes", index)
        entry = _mapping(raw, source, at, f"a mapping: {_EXAMPLE}")
        _refuse_unknown(entry, ENTRY_KEYS, source, at)
        sku = _sku(entry, source, at, skus)
        variables = _variables(entry, source, at)
        for name, place in _names(entry, source, at):
            if name in seen:
                raise _error(
                    source,
                    place,
                    f"node {name} is named twice, first in {source.at(*seen[name])}",
                    "each node once",
                    "take it out of one of the two ranges",
                )
            if len(seen) >= MAX_NODES:
                raise _error(
                    source,
                    place,
                    f"more than {MAX_NODES:,} nodes",
                    "the nodes of one fabric",
                    "check the ends of this range",
                )
            seen[name] = place
            yield Node(name, sku, variables, index)


def _names(
    entry: Mapping[str, t.Any], source: Source, at: tuple[str | int, ...]
) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Yield every node name of one entry, with the place that it is written at."""
    names = _required(entry, "names", source, at)
    listed = names if isinstance(names, list) else [names]
    if not listed:
        raise _error(source, (*at, "names"), "names: an empty list", 'names: "gpu-[001:064]"')
    for position, pattern in enumerate(listed):
        place = (*at, "names", position) if isinstance(names, list) else (*at, "names")
        if not isinstance(pattern, str):
            raise _error(
                source,
                place,
                f"names: {pattern!r}",
                "text",
                "put the name in quotes: YAML reads some names as numbers or true",
            )
        try:
            for name in expand(pattern, MAX_NODES):
                yield name, place
        except RangeError as error:
            raise _error(
                source, place, f"names: {pattern!r}: {error}", 'a range like "gpu-[001:064]"'
            ) from error


def _sku(
    entry: Mapping[str, t.Any], source: Source, at: tuple[str | int, ...], skus: Mapping[str, Sku]
) -> str:
    sku = _required(entry, "sku", source, at)
    if not isinstance(sku, str) or sku not in skus:
        raise _error(source, (*at, "sku"), f"unknown SKU {sku!r}", meant(str(sku), skus))
    return str(sku)


def _variables(
    entry: Mapping[str, t.Any], source: Source, at: tuple[str | int, ...]
) -> Mapping[str, t.Any]:
    place = (*at, "vars")
    variables = _mapping(entry.get("vars") or {}, source, place, "a mapping of variables")
    for name in variables:
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise _error(
                source,
                (*place, name),
                f"vars: {name!r} cannot be a variable",
                "letters, digits and underscores, not beginning with a digit",
            )
        if name in OWN_VARS:
            raise _error(
                source,
                (*place, name),
                f"vars: {name} is set from this file's own keys",
                "another name",
                f"take {name} out of vars",
            )
    return types.MappingProxyType(dict(variables))


def _mapping(
    raw: object, source: Source, at: tuple[str | int, ...], wanted: str
) -> Mapping[str, t.Any]:
    if not isinstance(raw, Mapping):
        what = "nothing" if raw is None else type(raw).__name__
        raise _error(source, at, f"found {what}", wanted)
    return raw


def _required(
    raw: Mapping[str, t.Any], key: str, source: Source, at: tuple[str | int, ...]
) -> t.Any:
    if raw.get(key) is None:
        raise _error(source, at, f"`{key}` is missing", f"`{key}:` with a value")
    return raw[key]


def _refuse_unknown(
    raw: Mapping[str, t.Any], allowed: tuple[str, ...], source: Source, at: tuple[str | int, ...]
) -> None:
    for key in unknown_keys(raw, allowed):
        raise _error(source, (*at, key), f"unknown key {key!r}", meant(key, allowed))


def _error(
    source: Source, at: tuple[str | int, ...], found: str, wanted: str, remedy: str = ""
) -> ClusterError:
    tail = f"; {remedy}" if remedy else ""
    return ClusterError(f"{source.at(*at)}: {found}; wanted: {wanted}{tail}")
