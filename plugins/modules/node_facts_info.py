#!/usr/bin/python
# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observe one node: hardware, drivers, operating system, what is installed."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts_info
short_description: Observe the hardware and the operating system of a node
version_added: 0.1.0
author:
  - The Trackbed developers (@trackbed)
description:
  - Asks the sources of facts on a node, side by side, and returns what they said as evidence.
  - Each source has its best way of asking and, for most, one to fall back on. Where that was
    needed, a C(problem) with the code V(fallback) says why.
  - It never decides whether a value is good. That is done on the controller, from the evidence of
    all nodes.
  - A source that is missing, hangs or fails does not fail the module. It is returned with a
    C(quality) that says so, and a C(problem) that says what was found and what to do.
  - Run it with C(become=true). For an ordinary user C(lspci) hides links and Access Control
    Services.
extends_documentation_fragment:
  - trackbed.cluster._attributes
  - trackbed.cluster._attributes.info_module
options:
  node:
    description:
      - Name of the node. All entity paths begin with it.
      - Usually C(inventory_hostname).
    type: str
    required: true
  sources:
    description:
      - Which sources to ask.
      - V(amd_gpu) runs C(amd-smi static --json), else C(rocm-smi --showallinfo --json).
      - V(clock) runs C(chronyc tracking), else C(timedatectl status).
      - V(cpu) runs C(lscpu).
      - V(disks) runs C(lsblk --json).
      - V(dkms) runs C(dkms status).
      - V(dmi) runs C(dmidecode).
      - V(gpu) runs C(nvidia-smi -q -x), else C(nvidia-smi -q).
      - V(gpu_driver) reads C(/proc/driver/nvidia/version), which tells of the module that is
        loaded, and not of the one that is installed.
      - V(interfaces) runs C(ip -j -d -s link).
      - V(kernel_log) runs C(journalctl -k -b), else C(dmesg). It can be large, so it is asked only
        where it is named.
      - V(modules) reads C(/proc/modules), else runs C(lsmod).
      - V(mounts) runs C(findmnt --json --real).
      - V(os) reads C(/etc/os-release) and C(/proc).
      - V(packages) runs C(dpkg -l), else C(rpm -qa), for the packages of kernel, GPU, network,
        containers, scheduler and storage.
      - V(pci) runs C(lspci -D -nn -vvv).
      - V(rdma) reads the files below C(/sys/class/infiniband), else runs C(ibstat).
      - V(secure_boot) runs C(mokutil --sb-state).
    type: list
    elements: str
    choices:
      - amd_gpu
      - clock
      - cpu
      - disks
      - dkms
      - dmi
      - gpu
      - gpu_driver
      - interfaces
      - kernel_log
      - modules
      - mounts
      - os
      - packages
      - pci
      - rdma
      - secure_boot
    default:
      - amd_gpu
      - clock
      - cpu
      - disks
      - dkms
      - dmi
      - gpu
      - gpu_driver
      - interfaces
      - modules
      - mounts
      - os
      - packages
      - pci
      - rdma
      - secure_boot
  timeout_s:
    description:
      - How many seconds each source has, at most 3600. At the limit the tool is killed with all
        processes that it started.
    type: float
    default: 30.0
  keep_raw:
    description:
      - Whether to return what the tools printed beside what was read from it.
      - Secrets are taken out. Outputs that would make the result too large are dropped, the
        largest first.
    type: bool
    default: true
requirements:
  - The tools of each source that is wanted. One that is missing is said in the evidence.
"""

EXAMPLES = r"""
- name: Observe every node
  trackbed.cluster.node_facts_info:
    node: "{{ inventory_hostname }}"
  become: true

- name: Ask for the operating system alone, without the raw files
  trackbed.cluster.node_facts_info:
    node: "{{ inventory_hostname }}"
    sources: [os]
    keep_raw: false
"""

RETURN = r"""
trackbed_evidence:
  description: One document per source.
  returned: always
  type: list
  elements: dict
  contains:
    schema:
      description: Version of the form of this document.
      returned: always
      type: int
      sample: 1
    source:
      description: Kind of the reading.
      returned: always
      type: str
      sample: lspci
    tool:
      description: C(name) and C(version) of the tool that was asked, null where there was none.
      returned: always
      type: dict
      sample: {name: lspci, version: 3.9.0}
    quality:
      description: How the observation itself went.
      returned: always
      type: str
      sample: ok
    problems:
      description: What could not be read, or not be trusted.
      returned: always
      type: list
      elements: dict
      sample:
        - code: tool_absent
          says: lspci is not on the node; install the package pciutils
    started:
      description: When the source was asked, in UTC.
      returned: always
      type: str
      sample: "2026-12-01T04:50:03Z"
    seconds:
      description: How long the source took.
      returned: always
      type: float
      sample: 0.8
    raw:
      description:
        - Hash and size of what the tool printed, and the output itself where it was kept.
        - Null where there is none.
      returned: always
      type: dict
      sample: {sha256: 9f86d081884c7d65, bytes: 20433, kept: true, zlib_b64: eJwDAAAAAAE=}
    entities:
      description:
        - What was observed, each with C(path), C(ids), C(values) and C(notes).
        - A missing value is null.
      returned: always
      type: list
      elements: dict
      sample:
        - path: gpu-002/gpu:5
          ids: {pci: "0000:9b:00.0", serial: null, dsn: null}
          values: {pcie_gen: 4, pcie_max_gen: 5, pcie_width: 16, pcie_max_width: 16}
          notes: {pcie_speed_gt_s: downgraded}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trackbed.cluster.plugins.module_utils import _evidence
from ansible_collections.trackbed.cluster.plugins.module_utils._sources import (
    SOURCES,
    collect,
    usual,
)


def main() -> None:
    """Ask each source that was named and return the evidence."""
    module = AnsibleModule(
        argument_spec={
            "node": {"type": "str", "required": True},
            "sources": {
                "type": "list",
                "elements": "str",
                "choices": sorted(SOURCES),
                "default": usual(),
            },
            "timeout_s": {"type": "float", "default": 30.0},
            "keep_raw": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    timeout_s = module.params["timeout_s"]
    if not 0 < timeout_s <= 3600:
        module.fail_json(
            msg=f"timeout_s is {timeout_s:g}; a number of seconds above 0, at most 3600, is wanted"
        )
    documents = []
    for found in collect(module.params["sources"], timeout_s):
        raw = found.raw if module.params["keep_raw"] else None
        documents.append(
            _evidence.document(
                found.reading, module.params["node"], found.started, found.seconds, raw
            )
        )
    module.exit_json(changed=False, **{_evidence.RESULT_KEY: _evidence.bounded(documents)})


if __name__ == "__main__":
    main()
