# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule that compares a value of each part with what it should be. Private to trackbed.cluster.

Most checks of a node's health are this one rule with other data. A value that the device does not
have is no finding about that device; one that cannot be read, or is a word that nobody knows, is
`unknown`.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Iterator, Mapping

from ansible_collections.trackbed.cluster.plugins.module_utils import _reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import (
    Case,
    Check,
    need_document,
    other_vendor,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import Document, Thing
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    FAIL,
    PASS,
    SKIP,
    UNKNOWN,
    Basis,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    meant,
    natural_key,
    shown,
)

Compare = Callable[[t.Any, t.Any], bool]

_LACKS = "not_supported"
_STRANGE = "verbatim"
_NAMES = {
    "gpu": "GPU {}",
    "nic": "NIC {}",
    "nic/port": "port {1} of NIC {0}",
    "gpu/nvlink": "NVLink {1} of GPU {0}",
    "nvswitch": "NVSwitch {}",
    "dimm": "DIMM {}",
}


def _number(value: t.Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(value: t.Any, want: t.Any) -> bool:
    return isinstance(value, bool) == isinstance(want, bool) and bool(value == want)


# How a check may compare -> (comparison, the words before what is wanted).
COMPARISONS: Mapping[str, tuple[Compare, str]] = {
    "equals": (_same, ""),
    "one_of": (lambda value, want: any(_same(value, one) for one in want), ""),
    "without": (
        lambda value, want: not any(one.lower() in value.lower() for one in want),
        "none of ",
    ),
    "at_most": (lambda value, want: bool(value <= want), "at most "),
    "at_least": (lambda value, want: bool(value >= want), "at least "),
}
_OF_NUMBERS = ("at_most", "at_least")
_OF_LISTS = ("one_of", "without")
# All parts that have the value, whatever they are.
EVERY = "*"


def wrong(params: Mapping[str, t.Any]) -> str | None:
    """Return what is wrong with a check's parameters: above all, that it could never fail."""
    compare, want = params["compare"], params["want"]
    number = _number(want) and math.isfinite(want)
    other = isinstance(want, dict) and list(want) == ["value"] and isinstance(want["value"], str)
    one = other or isinstance(want, (str, bool, int))
    complaints = (
        (compare not in COMPARISONS, f"compare: {compare!r}; {meant(compare, COMPARISONS)}"),
        (not isinstance(params["entity"], str), "entity: wanted a text"),
        (not isinstance(params.get("may_lack", False), bool), "may_lack: wanted true or false"),
        (
            compare in _OF_NUMBERS and not (number or other),
            "want: a finite number, or it could never fail",
        ),
        (compare in _OF_LISTS and not (isinstance(want, list) and want), "want: a list of values"),
        (compare == "equals" and not one, "want: one value, or {value: another of the part}"),
        (other and want["value"] == params["value"], "want: a value compared with itself"),
    )
    found = next((says for bad, says in complaints if bad), None)
    return f"{found}; found {dict(params)!r}" if found else None


def value_is(check: Check, case: Case) -> Iterator[Finding]:
    """Compare a value of each part of a kind with the one that is wanted."""
    for node in case.topology.nodes:
        document = other_vendor(check, case, node) or need_document(check, case, node.name)
        if isinstance(document, Finding):
            yield document
        else:
            yield from _judged(check, node.name, document)


def _judged(check: Check, node: str, document: Document) -> Iterator[Finding]:
    """Return a finding for each part that is not right, or one for the node."""
    params = check.params
    parts = _parts(params, document)
    common = {"expected": wanted(params), "basis": basis(check), "evidence": document.evidence}
    if not parts:
        what = "such value" if params["entity"] == EVERY else params["entity"] or "node"
        says = f"{document.source} on {node} shows no {what} to judge."
        verdict = SKIP if check.optional and document.quality == _reading.OK else UNKNOWN
        yield check.finding(node, verdict, says, action="repeat", **common)
        return
    found = [_one(check, node, part, document) for part in parts]
    wrong = [one for one in found if isinstance(one, tuple)]
    for path, verdict, says, more in wrong:
        yield check.finding(path, verdict, says, **more, **common)
    good = [one for one in found if isinstance(one, str)]
    doubt = _doubt(params, document)
    if doubt and not wrong:
        says = f"{node}: {params['noun']} cannot be read to the end: {doubt}."
        yield check.finding(node, UNKNOWN, says, action="repeat", **common)
    elif not wrong and good:
        says = _all_well(node, params, good)
        yield check.finding(node, PASS, says, actual=", ".join(sorted(set(good))), **common)
    elif not wrong:
        says = f"{node} has no such value: {params['noun'].rstrip(':')}."
        yield check.finding(node, SKIP, says, **common)


def _parts(params: Mapping[str, t.Any], document: Document) -> list[Thing]:
    """Return the parts that the check looks at, in order."""
    sort, name = params["entity"], params["value"]
    found = (
        one
        for one in document.things.values()
        if (one.values.get(name) is not None if sort == EVERY else one.sort == sort)
    )
    return sorted(found, key=lambda one: natural_key(one.path))


def _doubt(params: Mapping[str, t.Any], document: Document) -> str | None:
    """Return why what was read may not be all; a count also misses the lines that were strange."""
    strange = (
        one.says
        for one in document.troubles
        if not params["entity"] and one.code == "malformed" and not one.entity
    )
    return document.cut or next(strange, None)


def _one(
    check: Check, node: str, part: Thing, document: Document
) -> str | tuple[str, str, str, dict[str, str | None]] | None:
    """Return the value where it is right, None where the part has none, or what is wrong."""
    params, name = check.params, check.params["value"]
    value, place, want = part.values.get(name), _place(part, node), _want(params, part)
    trouble = document.trouble_at(part.path.partition("/")[2], name)
    lacks = part.notes.get(name) == _LACKS or (params.get("may_lack") and not trouble)
    if (value is None and lacks) or (want is None and not trouble):
        return None
    readable = value is not None and want is not None and part.notes.get(name) != _STRANGE
    if not readable or not _comparable(params, value):
        reason = trouble or "the value is missing"
        if value is not None and want is not None:
            reason = f"{shown(value)!r} is not a value that is known"
        says = f"{place}: {params['noun']} cannot be read: {reason}."
        return part.path, UNKNOWN, says, {"actual": None, "action": "repeat"}
    compare, words = COMPARISONS[params["compare"]]
    if compare(value, want):
        return shown(value)
    says = f"{place}: {params['noun']} {shown(value)}"
    says += "." if params["compare"] == "without" else f"; wanted {words}{_listed(want)}."
    return part.path, FAIL, says, {"actual": shown(value), "action": check.action}


def _want(params: Mapping[str, t.Any], part: Thing) -> t.Any:
    """Return what is wanted: what the check says, or another value of the same part."""
    want = params["want"]
    return part.values.get(want["value"]) if isinstance(want, Mapping) else want


def _comparable(params: Mapping[str, t.Any], value: t.Any) -> bool:
    if params["compare"] == "without":
        return isinstance(value, str)
    return _number(value) if params["compare"] in _OF_NUMBERS else True


def _all_well(node: str, params: Mapping[str, t.Any], good: list[str]) -> str:
    kinds = sorted(set(good), key=natural_key)
    values = kinds[0] if len(kinds) == 1 else f"{kinds[0]} to {kinds[-1]}"
    if not params["entity"]:
        return f"{node}: {params['noun']} {values}."
    return f"{node}: {params['noun']} {values} ({len(good)} read)."


def _place(part: Thing, node: str) -> str:
    """Return `GPU 3 of gpu-001`."""
    if not part.sort:
        return node
    own = [piece.split(":", 1)[-1] for piece in part.path.split("/")[1:]]
    words = _NAMES.get(part.sort, part.sort.rsplit("/", 1)[-1] + " {0}")
    return f"{words.format(*own)} of {node}"


def _listed(want: t.Any) -> str:
    return " or ".join(map(shown, want)) if isinstance(want, (list, tuple)) else shown(want)


def wanted(params: Mapping[str, t.Any]) -> str:
    """Return what is wanted, for a person."""
    want = params["want"]
    words = f"its {want['value']}" if isinstance(want, Mapping) else _listed(want)
    return COMPARISONS[params["compare"]][1] + words


def basis(check: Check) -> Basis:
    """Return where the expectation comes from."""
    return Basis("book", "; ".join(check.sources))
