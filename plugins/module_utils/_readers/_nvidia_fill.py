# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts what nvidia-smi tells of a GPU into its entity, the same from text and from XML.

Private to trackbed.cluster.
"""

from __future__ import annotations

import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    ABSENT_WORDS,
    MIG_VALUES,
    PROCESS_VALUES,
    VALUES,
    Value,
    convert,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import UNREADABLE

MAX_TEXT = 200
MAX_PROCESSES = 4096  # of one GPU; more is an input that repeats itself
Look = t.Callable[[str], t.Optional[str]]
Places = t.Mapping[str, t.Sequence[str]]


def gpu(
    reading: Reading,
    entity: Entity,
    look: Look,
    places: Places | None = None,
    line_of: t.Callable[[str], t.Optional[int]] | None = None,
) -> None:
    """Put the values of a GPU into its entity; `look` returns the text at a place of it.

    `places` has the places by the value's name; without it those of the XML count.
    `line_of` returns the line of a place, for the problems.
    """
    noted = fill(entity, VALUES, look, places)
    lines = {name: line_of(at) if line_of else None for name, (_word, at) in noted.items()}
    _note(reading, entity, {name: word for name, (word, _at) in noted.items()}, lines)


def mig(reading: Reading, entity: Entity, look: Look, places: Places | None = None) -> None:
    """Put the values of a MIG device into its entity."""
    fill(entity, MIG_VALUES, look, places)
    for value in MIG_VALUES[:3]:  # the identity and the memory are always there, if only as null
        entity.values.setdefault(value.name, None)
    _keep_types(entity, MIG_VALUES)
    reading.add(entity)


def processes(
    reading: Reading, parent: Entity, looks: t.Iterable[Look], places: Places | None = None
) -> None:
    """Add the processes of a GPU. One on two MIG devices comes twice; the second has `.2`."""
    times: dict[str, int] = {}
    for number, look in enumerate(looks):
        if number == MAX_PROCESSES:
            says = f"{parent.path} has more than {MAX_PROCESSES} processes; the rest is not kept"
            _plain.note(reading, "limited", says, entity=parent.path)
            return
        entity = Entity("")
        fill(entity, PROCESS_VALUES, look, places)
        _keep_types(entity, PROCESS_VALUES)
        pid = entity.values.get("pid")
        path = f"{parent.path}/process:{'unknown' if pid is None else pid}"
        times[path] = times.get(path, 0) + 1
        entity.path = path if times[path] == 1 else f"{path}.{times[path]}"
        reading.add(entity)


def fill(
    entity: Entity, values: t.Sequence[Value], look: Look, places: Places | None = None
) -> dict[str, tuple[str, str]]:
    """Put the values that have a place in the input; return text and place of those with a note.

    Of an old and a new place the first that holds something counts. A section that is
    not there as a whole ("Remapped Rows : N/A") says so for its values.
    """
    noted: dict[str, tuple[str, str]] = {}
    for value in values:
        at = value.places if places is None else places.get(value.name, ())
        texts = [(text, place) for place in at for text in (look(place),) if text is not None]
        texts = texts or [one for one in (_section(place, look) for place in at) if one]
        found, note, kept = None, None, ("", "")
        for kept in texts:
            found, note = convert(value, kept[0][:MAX_TEXT])
            if note != "not_supported":
                break
        if texts:
            entity.values[value.name] = found
        if note:
            entity.notes[value.name] = note
            noted[value.name] = (kept[0].strip()[:MAX_TEXT], kept[1])
    return noted


def _section(place: str, look: Look) -> tuple[str, str] | None:
    """Return the word that stands in place of the whole section, N/A or an error, and its place."""
    while "/" in place:
        place = place.rpartition("/")[0]
        word = (look(place) or "").strip().lower()
        if word and (word in ABSENT_WORDS or word in UNREADABLE):
            return word, place
    return None


def _keep_types(entity: Entity, values: t.Sequence[Value]) -> None:
    """Drop what is no number: "Not available in WDDM driver model" stands for no value."""
    for value in values:
        if entity.notes.get(value.name) == "verbatim":
            entity.values[value.name] = None
            entity.notes[value.name] = "not_supported"


def _note(
    reading: Reading, entity: Entity, noted: dict[str, str], lines: dict[str, int | None]
) -> None:
    """Record what could not be read: once for a GPU, a dead one has dozens of such values."""
    unreadable = []
    for name, word in noted.items():
        note = entity.notes[name]
        if note == "unreadable":
            unreadable.append((name, word))
        elif note == "verbatim":
            where = {"line": lines[name], "entity": entity.path, "field": name, "verbatim": word}
            _plain.note(reading, "unknown_value", "not a value that is known", **where)
    if unreadable:
        names = ", ".join(name for name, _word in unreadable[:6])
        rest = f" and {len(unreadable) - 6} more" if len(unreadable) > 6 else ""
        says = f"{entity.path} did not answer for {names}{rest}"
        name, word = unreadable[0]
        where = {"line": lines[name], "entity": entity.path, "field": name, "verbatim": word}
        _plain.note(reading, "unreadable_value", says, **where)
