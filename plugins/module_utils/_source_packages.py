# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source of facts about installed packages. Private to trackbed.cluster."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._collect import (
    Collected,
    Tool,
    first_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import dpkg_list, rpm_qi

# What makes nodes differ: kernel, GPU and network stack, containers, scheduler, storage.
PACKAGES = (
    *("linux-image-*", "linux-headers-*", "linux-modules-*", "kernel*", "dkms", "libc6", "glibc"),
    *("nvidia*", "libnvidia*", "cuda*", "libcuda*", "libnccl*", "datacenter-gpu-manager*"),
    *("gdrcopy*", "libgdrapi*", "gdrdrv*", "nvlsm", "libnvsdm*", "libxnvctrl*"),
    *("amdgpu*", "rocm*", "rccl*", "amd-smi*", "hip*"),
    *("rdma-core*", "ibverbs*", "libibverbs*", "infiniband-diags", "perftest", "opensm"),
    *("mlnx*", "mft*", "mstflint", "doca*", "ucx*", "libucx*", "openmpi*", "hpcx*", "niccli"),
    *("containerd*", "docker*", "podman", "enroot*", "slurm*", "munge", "systemd", "chrony"),
    *("lustre*", "beegfs*", "weka*", "nfs-*"),
)


def installed(timeout_s: float) -> Collected:
    """List the installed packages that make nodes differ: `PACKAGES`."""
    says = "this is neither a Debian nor an RPM system"
    deb = Tool(
        ("dpkg", "-l", *PACKAGES), dpkg_list.KIND, dpkg_list.read, says, frozenset({0, 1})
    )  # 1: nothing of some name
    rpm = Tool(("rpm", "-qa", *PACKAGES), rpm_qi.KIND, rpm_qi.read, says)
    return first_of((deb, rpm), timeout_s)
