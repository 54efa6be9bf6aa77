# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources of facts about GPUs. Private to trackbed.cluster."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils import _collect
from ansible_collections.trackbed.cluster.plugins.module_utils._collect import (
    Collected,
    KernelFile,
    Tool,
    first_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    amd_smi_json,
    nvidia_smi_error,
    nvidia_smi_q,
    nvidia_smi_xml,
    proc_driver_nvidia_version,
    rocm_smi_json,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import OK, PARTIAL, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import decode

PCI_DEVICES = Path("/sys/bus/pci/devices")
NVIDIA, AMD = "0x10de", "0x1002"
# Display controllers (03) and processing accelerators (12): PCI Code and ID Assignment 1.16 §1.4,
# §1.19. NVSwitches are bridges (06), and no GPUs.
_CLASSES = ("0x03", "0x12")


def gpu(timeout_s: float) -> Collected:
    """Ask `nvidia-smi -q -x`; where that cannot be read, `nvidia-smi -q`."""
    if not has_gpu(NVIDIA):
        says = "no NVIDIA GPU is on the PCI bus"
        return _collect.not_applicable(nvidia_smi_xml.KIND, says)
    install = "install the driver's package with it (nvidia-utils, nvidia-driver-cuda)"
    xml = Tool(("nvidia-smi", "-q", "-x"), nvidia_smi_xml.KIND, read_nvidia, install)
    text = Tool(("nvidia-smi", "-q"), nvidia_smi_q.KIND, nvidia_smi_q.read, install)
    return first_of((xml, text), timeout_s)


def read_nvidia(data: bytes) -> Reading:
    """Read the XML of nvidia-smi, or the error that it printed in its place."""
    reading = nvidia_smi_xml.read(data)
    if reading.quality in (OK, PARTIAL) or not nvidia_smi_error.recognise(decode(data)):
        return reading
    return nvidia_smi_error.read(data)


def gpu_driver(timeout_s: float) -> Collected:
    """Read which NVIDIA module is loaded, which is not always the one that is installed."""
    kind = proc_driver_nvidia_version.KIND
    if not has_gpu(NVIDIA):
        return _collect.not_applicable(kind, "no NVIDIA GPU is on the PCI bus")
    return KernelFile(
        "/proc/driver/nvidia/version",
        kind,
        proc_driver_nvidia_version.read,
        "no NVIDIA kernel module is loaded",
    )(timeout_s)


def amd_gpu(timeout_s: float) -> Collected:
    """Ask amd-smi, or rocm-smi where it is older than that."""
    if not has_gpu(AMD):
        return _collect.not_applicable(amd_smi_json.KIND, "no AMD GPU is on the PCI bus")
    install = "install amd-smi-lib and rocm-smi-lib of ROCm"
    static = Tool(("amd-smi", "static", "--json"), amd_smi_json.KIND, amd_smi_json.read, install)
    argv = ("rocm-smi", "--showallinfo", "--json")
    older = Tool(argv, rocm_smi_json.KIND, rocm_smi_json.read, install)
    return first_of((static, older), timeout_s)


def has_gpu(vendor: str) -> bool:
    """Tell whether a GPU of this vendor is on the PCI bus, by the kernel's list of it."""
    for device in _collect.entries(PCI_DEVICES):
        kind = _collect.file_text(device / "class") or ""
        if kind.startswith(_CLASSES) and _vendor(device) == vendor:
            return True
    return False


def _vendor(device: Path) -> str:
    return (_collect.file_text(device / "vendor") or "").strip()
