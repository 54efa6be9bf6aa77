"""Values in a nested document by dotted path, as overrides and faults name them. Pure."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from trackbed.errors import UsageError

Facts = Mapping[str, Any]


def merged(below: Any, above: Any) -> Any:
    """Return `above` laid over `below`: mappings by key, at any depth; all else is replaced."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return copy.deepcopy(above)
    both = {key: copy.deepcopy(value) for key, value in below.items()}
    for key, value in above.items():
        both[key] = merged(both.get(key), value)
    return both


def paths(document: Any, before: str = "") -> Iterator[str]:
    """Yield the path of every value that is not a mapping or a list, and of every list."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from paths(value, f"{before}{key}.")
    else:
        yield before[:-1]
        if isinstance(document, list):
            for index, value in enumerate(document):
                yield from paths(value, f"{before}{index}.")


def put(document: dict[str, Any], facts: Facts, where: str) -> dict[str, Any]:
    """Return the document with other values at these paths; `where` names it in errors.

    A path must exist: "ecc.volatile.dram_uncorrectable", "nvlink.links.3.state". "*" stands for
    every item of a list or every key. A value keeps its kind (a number, a text, …) unless it is or
    becomes null. Raises UsageError for another kind, and with what comes near for a wrong path.
    """
    result = copy.deepcopy(document)
    for path, value in facts.items():
        try:
            found = _set(result, path.split("."), value)
        except TypeError as error:
            raise UsageError(
                f"{where}: {path} is {value!r}",
                wanted=f"{error} there",
                remedy="write a text that looks like a number or a time in quotes",
            ) from error
        if not found:
            near = difflib.get_close_matches(path, list(paths(document)), n=3, cutoff=0.5)
            raise UsageError(
                f"{where} has no value {path!r}",
                wanted=f"a path of machine.json, such as {', '.join(near) or 'vbios'}",
                remedy="correct the path; docs/lab.md has the layout",
            )
    return result


def _set(document: Any, path: list[str], value: Any) -> bool:
    head, *rest = path
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(document) if head == "*" else [head] if head in document else []
    elif isinstance(document, list):
        here = range(len(document))
        keys = list(here) if head == "*" else [int(head)] if head in map(str, here) else []
    if not keys:
        return False
    if not rest:
        for key in keys:
            _check_kind(document[key], value)
            document[key] = copy.deepcopy(value)
        return True
    return all(_set(document[key], rest, value) for key in keys)


def _check_kind(old: Any, new: Any) -> None:
    """Raise TypeError with the old value's kind where the new one is of another kind."""

    def kind(value: Any) -> type:
        return float if type(value) is int else type(value)

    if old is not None and new is not None and kind(old) is not kind(new):
        raise TypeError(f"a value such as {old!r}")
