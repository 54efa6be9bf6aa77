"""From inputs to readings and findings: pure but for what intake has already read."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds

from trackbed.reading.intake import Item

# Below this a claim is a guess, and a guess is worse than "not recognised".
SURE_ENOUGH = 30


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one input."""

    item: Item
    reading: Reading | None
    certainty: int = 100
    also: tuple[str, ...] = ()
    """Other kinds that claim the same input just as surely."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "file": self.item.name,
            "bytes": len(self.item.data),
            "sha256": hashlib.sha256(self.item.data).hexdigest(),
            "trouble": self.item.trouble,
            "also": list(self.also),
            "reading": self.reading.as_dict() if self.reading else None,
        }


def outcome(item: Item, kind: str | None) -> Outcome:
    """Read one input as `kind`, or as what its content says that it is."""
    if kind is not None:
        return Outcome(item, _kinds.kinds()[kind].read(item.data))
    claims = [claim for claim in _kinds.recognise(item.data) if claim[1] >= SURE_ENOUGH]
    if not claims:
        return Outcome(item, None, 0)
    (name, certainty), *others = claims
    also = tuple(other for other, equally in others if equally == certainty)
    return Outcome(item, _kinds.kinds()[name].read(item.data), certainty, also)
