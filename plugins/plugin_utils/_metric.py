# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a metric before any node is measured, and the scale it is compared on.

Private to trackbed.cluster. Bandwidths are compared by ratio (10 % is 10 %, at 3 TB/s as at
50 GB/s), temperatures by difference (5 K are 5 K).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._numpy import Array, np

MORE = "more"
LESS = "less"
EQUAL = "equal"
BETTER = (MORE, LESS, EQUAL)
RATIO = "ratio"
DIFFERENCE = "difference"
SCALES = (RATIO, DIFFERENCE)

# Verdict words about a group of values. Nothing measured is never "even".
EVEN = "even"
SPLIT = "split"
OUTLIERS = "outliers"
TOO_FEW = "too few"
NOT_MEASURED = "not measured"

_LIMITS = ("repeatability", "tolerance", "smallest_gap")
# Makes the MAD of normal values their standard deviation: 1 / 0.6745.
_MAD_OF_NORMAL = 1.4826


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric. The three limits are shares of the value on the ratio scale, else in its unit."""

    name: str
    unit: str = ""
    better: str = MORE
    scale: str = RATIO
    repeatability: float = 0.003
    """One standard deviation of the same part measured again."""
    tolerance: float = 0.025
    """What a value may be off before anybody should care."""
    smallest_gap: float = 0.02
    """What two populations must be apart before anybody should care."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant. Raises ValueError."""
        for field, known in (("better", BETTER), ("scale", SCALES)):
            if getattr(self, field) not in known:
                raise ValueError(
                    f"{self.name}.{field} is {getattr(self, field)!r}; "
                    f"it must be one of {', '.join(known)}"
                )
        for field in _LIMITS:
            if not (math.isfinite(getattr(self, field)) and getattr(self, field) > 0):
                raise ValueError(
                    f"{self.name}.{field} is {getattr(self, field)}; it must be more than 0"
                )


@dataclasses.dataclass(frozen=True)
class Scaled:
    """The values of a group that can be compared, and the names of the others."""

    names: tuple[str, ...]
    x: Array
    """On the metric's scale: natural logarithms for ratios."""
    missing: tuple[str, ...]
    """Not measured: None or not a finite number."""
    stopped: tuple[str, ...]
    """Zero or less where a ratio was wanted: no member of any population, but not missing."""


def scaled(values: Mapping[str, float | None], metric: Metric) -> Scaled:
    """Sort out what can be compared, in the order given."""
    read = {
        name: value for name, value in values.items() if value is not None and math.isfinite(value)
    }
    stopped = [name for name, value in read.items() if metric.scale == RATIO and value <= 0]
    out = set(stopped)
    names = tuple(name for name in read if name not in out)
    x = np.array([read[name] for name in names], dtype=float)
    return Scaled(
        names,
        np.log(x) if metric.scale == RATIO else x,
        tuple(name for name in values if name not in read),
        tuple(stopped),
    )


def unscaled(x: float, metric: Metric) -> float:
    """Return a place on the scale in the metric's unit."""
    return math.exp(x) if metric.scale == RATIO else x


def step(distance: float, metric: Metric) -> float:
    """Return a distance on the scale as a share (-0.1 is 10 % less), or in the metric's unit."""
    return math.expm1(distance) if metric.scale == RATIO else distance


def worse(distance: float, metric: Metric) -> bool:
    """Tell whether to be off so far, in this direction, is bad."""
    return distance != 0 if metric.better == EQUAL else (distance < 0) == (metric.better == MORE)


def spread(x: Array) -> float:
    """Return the median absolute deviation, scaled to one standard deviation; 0 for no values."""
    if not len(x):
        return 0.0
    return float(_MAD_OF_NORMAL * np.median(np.abs(x - np.median(x))))


def sigmas_allowed(count: int) -> float:
    """Return how many standard deviations one of `count` values may be off.

    4, and more among many, so that a healthy fleet of any size stays below one false alarm in
    about twenty: a normal value is beyond 4 sigma in 6 of 100,000, beyond 4.8 in 1.6 of a million.
    """
    return 4.0 if count < 200 else 4.3 if count < 2000 else 4.8
