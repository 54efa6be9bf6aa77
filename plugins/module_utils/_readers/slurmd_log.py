# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the log of Slurm's node daemon, slurmd."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _slurm_log
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._slurm_log_fields import (
    FIELDS as LOG_FIELDS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "slurmd-log"
TITLE = "Log of Slurm's node daemon (slurmd): errors and what it did to nodes, grouped in bursts"
VERSIONS = "own file, standard error, syslog, journalctl; versions of Slurm not told apart"
SOURCES = (
    "https://github.com/BiBiServ/bibigrid/issues/705",
    "https://github.com/NVIDIA/deepops/issues/1214",
)
PROVEN = True
FIELDS = LOG_FIELDS


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return _slurm_log.score(text, "slurmd")


def read(data: Data) -> Reading:
    """Read the log. Entities: "", `slurm_node:NAME`, `event:N`."""
    return _slurm_log.read(KIND, "slurmd", data)
