# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy, where it is there. Private to trackbed.cluster.

A collection must import on a controller that has nothing but ansible-core, so what compares
nodes takes `np` from here, and whoever calls it asks `need_numpy()` first.
"""

from __future__ import annotations

import typing as t

try:
    import numpy as np

    _TROUBLE = ""
except ImportError as error:  # said by need_numpy(), when it is known to matter
    np = None  # type: ignore[assignment]
    _TROUBLE = str(error)

if t.TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
else:
    Array = Ints = t.Any

__all__ = ["Array", "Ints", "NoNumpyError", "need_numpy", "np"]


class NoNumpyError(RuntimeError):
    """numpy cannot be imported: what was found, what is wanted, what to do."""


def need_numpy() -> None:
    """Raise NoNumpyError where there is no numpy, the one thing that comparing nodes needs."""
    if _TROUBLE:
        raise NoNumpyError(
            f"Comparing nodes needs numpy 1.26 or later, and importing it fails: {_TROUBLE}. "
            "Install it for the Python that runs ansible: python3 -m pip install numpy"
        )
