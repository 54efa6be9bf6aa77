# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person can do about a finding: action -> words. Private to trackbed.cluster."""

from __future__ import annotations

ACTIONS = {
    # about the node
    "find_missing_gpu": (
        "Look for the GPU in the kernel log (Xid 79, PCIe errors) and on the BMC; take the "
        "power off the node and give it back; then reseat the GPU or its baseboard, or replace it."
    ),
    "correct_sku": (
        "Correct the SKU of this node in the cluster file, or take out the GPUs that do not "
        "belong into it."
    ),
    "reseat_or_replace": (
        "Drain the node, look for PCIe errors in the kernel log, and check that the BIOS does not "
        "limit the slot. Then reseat the GPU (or its baseboard and risers) and read again; "
        "replace the part if the link stays slow."
    ),
    "read_under_load": (
        "Run something on the GPU (any CUDA or HIP program will do) and validate again while it "
        "runs: a healthy link then rises to its full speed."
    ),
    "bring_to_majority": (
        "Bring the differing nodes to what the others have, and reboot them out of service."
    ),
    "choose_one": (
        "Neither side is the standard by its numbers. Choose one, bring the others to it, and "
        "reboot them out of service."
    ),
    # about the observation
    "reach_node": (
        "Check that the node is up and that ansible reaches it (ansible -m ping), then validate "
        "again."
    ),
    "install_tool": "Install what is named on the node, then validate again.",
    "grant_access": "Let the module become root on the node (become: true), then validate again.",
    "repeat": "Validate again; where it happens again, run the tool by hand on the node and look.",
    "read_tool_error": "Run the tool by hand on the node and mend what it complains about.",
    "report_format": (
        "Keep the raw output (`trackbed facts --json`) and report it: this form is not known yet."
    ),
    "name_sku": "Give the node a SKU in the cluster file (`sku:`), or leave it out with --limit.",
}
