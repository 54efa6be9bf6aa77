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
    "enable_persistence": (
        "Start nvidia-persistenced (it comes with the driver) and enable it at boot; "
        "`nvidia-smi -pm 1` helps until the next boot."
    ),
    "enable_ecc": (
        "Drain the node, switch ECC on (`nvidia-smi -e 1`) and reset the GPUs or reboot; unless "
        "the site wants it off, then say so in the policy."
    ),
    "reset_to_settle": "Drain the node and reset the GPU, so that the setting takes effect.",
    "reset_gpu": (
        "Keep the GPU's state first, a reset clears the counters: nvidia-bug-report.sh, or "
        "`amd-smi metric --json`. Then drain the node, reset the GPU (`nvidia-smi -r -i N`, "
        "`amd-smi reset -G -g N`) and validate again; where the error comes back, run the "
        "vendor's field diagnostic."
    ),
    "replace_gpu": (
        "Drain the node, keep nvidia-bug-report.sh, confirm with the vendor's field diagnostic, "
        "and have the GPU replaced."
    ),
    "follow_recovery_action": (
        "Drain the node and do what the driver asks for (a reset of the GPU, or a reboot), then "
        "validate again."
    ),
    "cool_or_power": (
        "Drain the node. Compare its inlet temperature, fans and power supplies on the BMC with a "
        "good node's; look for a blocked airflow, a loose heat sink or cold plate, or a power cap "
        "of the chassis."
    ),
    "restart_fabric": (
        "Look at the log of nvidia-fabricmanager (and of nvlsm where there is one); its version "
        "must be the driver's. Drain the node, restart the service and reset the GPUs."
    ),
    "disable_mig": "Drain the node and switch MIG off (`nvidia-smi -mig 0`), then reset the GPU.",
    "set_compute_mode": "Set the compute mode back (`nvidia-smi -c 0`).",
    "restore_power_limit": (
        "Find what lowered the limit (`nvidia-smi -pl`, a power policy of the BMC) and set it back "
        "to the default, or say in the policy that the site wants it so."
    ),
    "mend_link": (
        "Look at both ends of the cable (`mlxlink -d DEVICE -m -c -e`): clean or reseat it, then "
        "change the cable or transceiver, then the port."
    ),
    "update_firmware": (
        "Bring the differing parts to the firmware of the others, out of service; where a part was "
        "replaced lately, its firmware was mostly forgotten."
    ),
    "find_missing_part": (
        "Look for the part in the BMC's event log and inventory; reseat it, or replace it."
    ),
    "replace_disk": "Keep the disk's log, take it out of use, and replace it.",
    "read_sensors": (
        "Look at the named sensors and at the event log of the BMC; replace the fan, the power "
        "supply or the part that they are about."
    ),
    "mend_units": "Look at `systemctl --failed` and the journal of the named units.",
    "finish_packages": (
        "Look at `dpkg --audit`; finish the installation (`dpkg --configure -a`) out of service, "
        "before anything else is installed."
    ),
    "keep_nouveau_out": (
        "Blacklist nouveau (the vendor's driver packages do), rebuild the initramfs and reboot out "
        "of service."
    ),
    "sync_clock": "Start chrony (or the site's time service) and see that it reaches its servers.",
    "run_diagnostic_again": (
        "Drain the node and run the diagnostic again with nothing else on the GPUs; where it "
        "fails twice, keep its output and nvidia-bug-report.sh and open a case."
    ),
    "look_at_job": (
        "Look at the job that ran there: it is mostly the program's own error. Where several jobs "
        "meet it on this node alone, drain the node and run the vendor's diagnostic."
    ),
    "look_up_event": (
        "Look the event up with the vendor; where a recovery action is named in the log or by "
        "nvidia-smi, do that."
    ),
    "watch_part": (
        "Let running jobs end, then reset or read the part again out of service; where it comes "
        "back within days, have it repaired."
    ),
    "reboot_node": (
        "Keep nvidia-bug-report.sh and the kernel log, drain the node and reboot it (a power cycle "
        "where a device is gone); where it comes back, reseat or replace the part."
    ),
    "repair_part": (
        "Drain the node, keep the kernel log and the BMC's event log, and have the part reseated "
        "or replaced."
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
