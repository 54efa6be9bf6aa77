# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about a node's GPUs, against its SKU. Private to trackbed.cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import (
    Case,
    Check,
    need_document,
    need_sku,
    other_vendor,
    spec,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import Document, Thing
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    FAIL,
    PASS,
    SKIP,
    UNKNOWN,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import Sku

# Problems that concern a value, never whether a device was listed at all.
_ABOUT_VALUES = ("no_access", "missing_value", "unreadable_value", "unknown_value")
# The generation to which a driver may lower an idle link (PCI Express calls it
# 2.5 GT/s; every device can do it). Anything between is a link that trained badly.
_REST_GEN = 1


def gpu_count(check: Check, case: Case) -> Iterator[Finding]:
    """Compare the number of GPUs with the SKU."""
    for node in case.topology.nodes:
        sku = other_vendor(check, case, node) or need_sku(check, case, node)
        document = need_document(check, case, node.name)
        if isinstance(sku, Finding):
            yield sku
        elif isinstance(document, Finding):
            yield document
        else:
            yield _count(check, node.name, sku, document)


def _count(check: Check, node: str, sku: Sku, document: Document) -> Finding:
    gpus = _gpus(document, node)
    found = len(gpus)
    more = {
        "expected": str(sku.gpu_count),
        "actual": str(found),
        "basis": spec(sku, "gpu_count"),
        "evidence": document.evidence,
    }
    doubt = _count_doubt(document, node, found, sku.gpu_count)
    if doubt:
        says = f"The GPUs of {node} cannot be counted: {doubt}."
        return check.finding(node, UNKNOWN, says, action="repeat", **more)
    place = check.params["place"]
    says = f"{node} shows {found or 'no'} GPU{'s' * (found != 1)} {place}"
    dead = [_name(gpu, node) for gpu in gpus if gpu.values.get("config_readable") is False]
    if dead:
        says = f"{says}, but {_listed(dead)} no longer answer{'s' * (len(dead) == 1)}."
        more["actual"] = f"{found - len(dead)} of {found} answer"
        return check.finding(node, FAIL, says, action=check.action, **more)
    if found == sku.gpu_count:
        return check.finding(node, PASS, f"{says}.", **more)
    action = check.action if found < sku.gpu_count else "correct_sku"
    says = f"{says}; a node of {sku.sku} has {sku.gpu_count}."
    return check.finding(node, FAIL, says, action=action, **more)


def _count_doubt(document: Document, node: str, found: int, wanted: int) -> str | None:
    """Return why the count cannot be trusted, or None.

    The reader gives no count where the list was cut. Lines that it did not
    understand may hide a GPU, but they do not take one away that is there.
    """
    strange = (
        one.says
        for one in document.troubles
        if one.entity in (None, "") and one.code not in _ABOUT_VALUES
    )
    own = document.things.get(node)
    told = own.integer("gpu_count") if own else None
    if told is None:
        return next(strange, f"{document.source} gave no count")
    if told != found:
        return f"the list holds {found}, its own count says {told}"
    return None if found == wanted else next(strange, None)


def gpu_pcie_link(check: Check, case: Case) -> Iterator[Finding]:
    """Compare speed and width of each GPU's PCIe link with the SKU."""
    for node in case.topology.nodes:
        sku, document = need_sku(check, case, node), need_document(check, case, node.name)
        if isinstance(sku, Finding):
            yield sku
        elif sku.pcie_gen is None or sku.pcie_width is None:
            reason = sku.absent.get("pcie_gen") or sku.absent.get("pcie_width")
            yield check.finding(node.name, SKIP, f"Not judged on {node.name}: {reason}.")
        elif isinstance(document, Finding):
            yield document
        else:
            yield from _links(check, node.name, sku, (sku.pcie_gen, sku.pcie_width), document)


def _links(
    check: Check, node: str, sku: Sku, wanted: tuple[int, int], document: Document
) -> Iterable[Finding]:
    """Return a finding for each link that is not right, or one for the node."""
    gpus = _gpus(document, node)
    found = [_link(check, node, gpu, wanted, document) for gpu in gpus]
    basis, evidence = spec(sku, "pcie_gen", "pcie_width"), document.evidence
    more = {"expected": _words(*wanted), "basis": basis, "evidence": evidence}
    wrong = [
        check.finding(entity, verdict, says, **extra, **more)
        for entity, verdict, says, extra in (one for one in found if one)
    ]
    good = len(gpus) - len(wrong)
    if len(gpus) < sku.gpu_count:
        seen = f"Only {len(gpus)} of {sku.gpu_count} GPUs of {node} are seen"
        says = (
            f"{seen} ({good} of them at {_words(*wanted)}); the others' links cannot be judged."
            if gpus
            else f"No GPU of {node} is seen, so no link can be judged."
        )
        wrong.append(check.finding(node, UNKNOWN, says, action="find_missing_gpu", **more))
    if wrong:
        return wrong
    says = f"All {len(gpus)} GPUs of {node} run their PCIe links at {_words(*wanted)}."
    return [check.finding(node, PASS, says, actual=_words(*wanted), **more)]


def _link(
    check: Check, node: str, gpu: Thing, wanted: tuple[int, int], document: Document
) -> tuple[str, str, str, dict[str, str | None]] | None:
    """Return (entity, verdict, says, actual and action) of a link that is not right."""
    gen, width = gpu.integer("pcie_gen"), gpu.integer("pcie_width")
    part = gpu.path.removeprefix(f"{node}/")
    name = f"{_name(gpu, node)} of {node}"
    if gen is None or width is None:
        reason = document.trouble_of(part) or _hidden(document) or "the value is missing"
        action = "grant_access" if _hidden(document) else "repeat"
        says = f"The PCIe link of {name} cannot be read: {reason}."
        return gpu.path, UNKNOWN, says, {"actual": None, "action": action}
    if width == 0:
        says = f"The PCIe link of {name} is down."
        return gpu.path, FAIL, says, {"actual": "down", "action": check.action}
    slow, narrow = gen < wanted[0], width < wanted[1]
    if not slow and not narrow:
        return None
    limit = gpu.integer("pcie_max_gen")
    short = limit is not None and limit < wanted[0]
    actual = _words(gen, width)
    if gen == _REST_GEN and not narrow and not short:
        says = (
            f"{name} shows its PCIe link at {actual}. An idle GPU may lower its link to save "
            "power, so this reading cannot tell rest from a fault."
        )
        return gpu.path, UNKNOWN, says, {"actual": actual, "action": "read_under_load"}
    says = f"{name} trained its PCIe link at {_difference((gen, width), wanted)}."
    if short:
        says += f" The GPU itself offers no more than Gen{limit}."
    return gpu.path, FAIL, says, {"actual": actual, "action": check.action}


def _difference(found: tuple[int, int], wanted: tuple[int, int]) -> str:
    """Return `Gen4 instead of Gen5`, naming only what differs."""
    if found[1] >= wanted[1]:
        return f"Gen{found[0]} instead of Gen{wanted[0]}"
    if found[0] >= wanted[0] or found[0] == _REST_GEN:
        return f"x{found[1]} instead of x{wanted[1]}"
    return f"{_words(*found)} instead of {_words(*wanted)}"


def _hidden(document: Document) -> str | None:
    found = (one for one in document.troubles if one.code == "no_access")
    return next((one.says for one in found), None)


def _gpus(document: Document, node: str) -> list[Thing]:
    """Return the GPUs themselves, in order, not what they are divided into."""
    head = f"{node}/gpu:"
    found = (
        one
        for one in document.things.values()
        if one.path.startswith(head) and one.path[len(head) :].isdecimal()
    )
    return sorted(found, key=lambda one: natural_key(one.path))


def _name(gpu: Thing, node: str) -> str:
    return f"GPU {gpu.path.removeprefix(f'{node}/gpu:')}"


def _listed(names: list[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _words(gen: int, width: int) -> str:
    return f"Gen{gen} x{width}"
