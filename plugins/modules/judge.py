#!/usr/bin/python
# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: judge
short_description: Judge what was read from the nodes in this run
version_added: 0.1.0
author:
  - The Trackbed developers (@trackbed)
description:
  - Takes the evidence that this run of C(ansible-playbook) has recorded in the journal, and returns
    findings, each with one of five verdicts, C(pass), C(warn), C(fail), C(unknown) or C(skip).
  - Works on the controller and touches no node. Use it once per play, with C(run_once=true).
  - Needs the callback plugin C(trackbed.cluster.journal), which records the evidence.
  - A node that was not read is judged C(unknown), and unknown is not pass.
options:
  nodes:
    description:
      - The nodes to judge, usually C(ansible_play_hosts_all), so that those that were not reached
        are judged too.
    type: list
    elements: str
    required: true
  journal:
    description:
      - The journal to read.
      - By default, the one that the callback writes.
    type: path
  run:
    description:
      - Id of the run whose evidence is judged.
      - By default, the run that the callback records now.
    type: str
  policy:
    description:
      - What the site says about checks, a mapping from the name of a check to C(enabled),
        C(severity), C(action) and C(want), the threshold.
    type: dict
    default: {}
  fail:
    description:
      - Whether the task fails where the nodes are not level, or are not known to be.
    type: bool
    default: true
extends_documentation_fragment:
  - trackbed.cluster._attributes
  - trackbed.cluster._attributes.info_module
"""

EXAMPLES = r"""
- name: Judge the nodes
  hosts: all
  gather_facts: false
  tasks:
    - name: Read them
      trackbed.cluster.node_facts_info:
        node: "{{ inventory_hostname }}"
      become: true

    - name: Judge what was read
      trackbed.cluster.judge:
        nodes: "{{ ansible_play_hosts_all }}"
        policy:
          kernel_equal:
            severity: minor
      run_once: true
"""

RETURN = r"""
trackbed_findings:
  description: What was found, in the order of the checks.
  returned: always
  type: list
  elements: dict
  sample:
    - check: gpu_pcie_link
      entity: gpu-002/gpu:5
      verdict: fail
      severity: critical
      says: GPU 5 of gpu-002 trained its PCIe link at Gen4 instead of Gen5.
      expected: Gen5 x16
      actual: Gen4 x16
verdict:
  description: All of it in a word, C(level), C(not level) or C(unknown).
  returned: always
  type: str
  sample: not level
counts:
  description: How many findings there are of each verdict.
  returned: always
  type: dict
  sample: {pass: 11, warn: 0, fail: 1, unknown: 0, skip: 0}
run:
  description: The run whose evidence was judged.
  returned: always
  type: str
  sample: 20261201-055003-ab12
"""

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Say that the action plugin is missing: it runs in place of this module."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "journal": {"type": "path"},
            "run": {"type": "str"},
            "policy": {"type": "dict", "default": {}},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    module.fail_json(
        msg="the action plugin trackbed.cluster.judge was not found beside its module; "
        "reinstall the collection trackbed.cluster"
    )


if __name__ == "__main__":
    main()
