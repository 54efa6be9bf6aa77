# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of readers: which kinds there are, and of which kind a text is.

Private to trackbed.cluster.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _readers
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

# Recognition looks no further than this many characters into the input.
HEAD = 65_536


@dataclasses.dataclass(frozen=True)
class Kind:
    """One format that can be read."""

    name: str
    title: str
    versions: str
    sources: tuple[str, ...]
    proven: bool
    fields: t.Mapping[str, t.Mapping[str, Field]]
    read: t.Callable[[Data], Reading]
    recognise: t.Callable[[str], int]


@functools.cache
def kinds() -> dict[str, Kind]:
    """Return every kind by name."""
    found = {}
    for module_info in pkgutil.iter_modules(_readers.__path__):
        module = importlib.import_module(f"{_readers.__name__}.{module_info.name}")
        if not hasattr(module, "KIND"):
            continue
        found[module.KIND] = Kind(
            name=module.KIND,
            title=module.TITLE,
            versions=module.VERSIONS,
            sources=tuple(module.SOURCES),
            proven=module.PROVEN,
            fields=module.FIELDS,
            read=module.read,
            recognise=module.recognise,
        )
    return dict(sorted(found.items()))


def recognise(data: Data) -> list[tuple[str, int]]:
    """Return (kind, certainty 1 to 100), surest first; empty where no kind claims the input."""
    head = decode(data[:HEAD])
    claims = [(name, kind.recognise(head)) for name, kind in kinds().items()]
    return sorted(
        (claim for claim in claims if claim[1] > 0), key=lambda claim: (-claim[1], claim[0])
    )
