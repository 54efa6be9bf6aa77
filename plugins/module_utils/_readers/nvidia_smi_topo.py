# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi topo -m` and `topo -p2p`: how GPUs and NICs reach each other.

Format: a matrix of GPUs and NICs, with the CPUs and NUMA nodes that are near, in newer
drivers with the NUMA node of the GPU's own memory; a legend names the NICs (in driver 470
they stand in the matrix by name). `-p2p` has a word for each pair instead. The
header has colours even in a pipe. Each pair stands there twice; the two must agree.
Versions: drivers 470 to 595. Source: nvidia-smi(1), topo; its own legend.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_text,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._topo_build import (
    Build,
    self_is_right,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._topo_matrix import (
    P2P,
    PATHS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._topo_scan import find
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "nvidia-smi-topo"
TITLE = "nvidia-smi topo: paths between GPUs and NICs"
VERSIONS = "drivers 470 to 595: -m, -mp, -p2p"
SOURCES = (
    "nvidia-smi(1), topo",
    "https://github.com/NVIDIA/nccl/issues/1617",
    "https://github.com/NVIDIA/nccl/issues/2157",
)
PROVEN = True
_P2P_FIELDS = {
    "p2p_status": "peer access; which one was not in the text",
    "p2p_read": "reads from the other's memory",
    "p2p_write": "writes to the other's memory",
    "p2p_read_write": "reads and writes",
    "p2p_nvlink": "over NVLink",
    "p2p_atomics": "atomic operations",
    "p2p_pcie": "over PCIe",
}
FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs; null where the matrix was cut"),
        "nic_count": Field(int, "NICs; null where the matrix was cut, or tells of none"),
    },
    "gpu": {
        "cpu_affinity": Field(str, "CPUs that are near, as ranges"),
        "numa_affinity": Field(list, "NUMA nodes that are near"),
        "numa_node": Field(int, "the one NUMA node that is near; null where it is not one"),
        "gpu_numa_id": Field(int, "NUMA node that the GPU's memory is; null on most platforms"),
    },
    "nic": {
        "topo_name": Field(str, "name in the matrix"),
        "description": Field(str, "what else the legend says"),
    },
    "link": {
        "path": Field(str, "path over PCIe, or nv for NVLink, as in the legend", values=PATHS),
        "nvlink_count": Field(int, "NVLinks of the pair; null where there is no NVLink between"),
        **{name: Field(str, says, values=P2P) for name, says in _P2P_FIELDS.items()},
    },
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if "GPU" not in text and "NIC" not in text:
        return 0
    found = find(text)
    for matrix in found.matrices:
        if any(self_is_right(matrix, row) for row in matrix.rows):
            return 96
        if matrix.devices and "cpu_affinity" in matrix.columns:
            return 90
    rows = sum(len(one.rows) for one in found.matrices)
    return 80 if rows >= 2 and found.has_legend else 0


def read(data: Data) -> Reading:
    """Read the matrices. Entities: "", `gpu:N`, `nic:<name>`, `link:<a>--<b>`, ends sorted."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    found = find(data)
    for number, word in found.strange:
        if not _nvidia_text.error_of_tool(reading, number, word):
            _plain.malformed(reading, number, word, "a line of nvidia-smi topo")
    matrices = [one for one in found.matrices if one.rows]
    if not matrices:
        return _nvidia_text.nothing(reading, "a matrix of GPUs", decode(data))
    if found.elided:
        reading.note("truncated", "lines were left out here", line=found.elided)
    Build(reading, found).all(matrices)
    return reading
