# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What slurmd and slurmctld write, as tables. Private to trackbed.cluster.

Seen in public outputs: https://github.com/NVIDIA/deepops/issues/1214,
https://github.com/ai4d-iasc/trixie/issues/45, https://github.com/clustervision/trinity/issues/332,
https://github.com/radiasoft/sirepo/issues/2136. Other rows are written from knowledge of the
messages, without a sample.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_NODE = r"(?P<node>[A-Za-z0-9][\w.,\[\]-]{0,254})"
_JOB = r"(?:JobId[= ]|job[ =])(?P<job_id>[0-9]{1,12})"
_LESS = r"\((?P<found_count>[0-9]{1,12}) < (?P<configured_count>[0-9]{1,12})\)"
# Both daemons, or systemd about their units.
BOTH = (
    row(
        "munge_error",
        "unge",
        r"(?P<reason>(?:Munge|MUNGE|munge) (?:encode|decode|cred"
        r"|authentication).{0,120}|If munged is up.{0,80})",
    ),
    row("dns_srv_failed", "DNS SRV", r"(?P<reason>.{0,60}DNS SRV lookup failed.{0,60})"),
    row(
        "step_cancelled",
        "CANCELLED AT",
        r"\*\*\* (?:STEP|JOB) (?P<step>\S{1,40}) ON "
        + _NODE
        + r" CANCELLED AT (?P<at>\S{10,32})(?: DUE TO (?P<reason>.{1,80}?))? \*\*\*",
    ),
    row(
        "kill_failed",
        "JOB NOT ENDING",
        r"STEP (?P<step>\S{1,40}) STEPD TERMINATED ON "
        + _NODE
        + r" AT \S{1,32} (?P<reason>DUE TO JOB NOT ENDING WITH SIGNALS)",
    ),
    row(
        "kill_failed",
        "Kill task failed",
        _JOB + r" on node\(s\)=" + _NODE + r": (?P<reason>Kill task failed)",
    ),
    row("kill_failed", "Kill task failed", r"(?P<reason>Kill task failed)"),
    row(
        "service_exited",
        "process exited",
        r"(?P<unit>slurm\w{1,8}\.service): .{0,20}process exited, code="
        r"(?P<exit_code>\w{1,12}), status=(?P<exit_status>[0-9]{1,3})(?:/"
        r"(?P<reason>[A-Z_]{1,24}))?",
    ),
    row(
        "service_failed",
        "Failed with result",
        r"(?P<unit>slurm\w{1,8}\.service): Failed with result '(?P<reason>[a-z-]{1,24})'",
    ),
    row(
        "service_failed",
        "Failed to start",
        r"Failed to start (?:slurm\w{1,8}\.service|Slurm )(?P<reason>.{0,80})",
    ),
    row("service_starting", "Starting", r"Starting (?:slurm\w{1,8}\.service - )?Slurm .{0,60}"),
    row("service_started", "Started", r"Started (?:slurm\w{1,8}\.service - )?Slurm .{0,60}"),
)
SLURMD = (
    row(
        "gres_file_missing",
        "gres.conf file",
        r"can't stat gres\.conf file (?P<file>[^\s:]{1,200}): (?P<reason>.{1,80})",
    ),
    row(
        "gres_file_waiting",
        "gres.conf file",
        r"Waiting for gres\.conf file (?P<file>[^\s:]{1,200})",
    ),
    row(
        "gpu_library_missing",
        "autodetect",
        r"configured to autodetect (?P<library>\w{1,16}) functionality, but "
        r"(?P<reason>we weren't able to find that lib.{0,60})",
    ),
    row(
        "gpu_library_failed",
        "NVML",
        r"(?P<reason>(?:Failed to (?:initialize|init|get) NVML|Failed to initialize "
        r"(?P<library>NVML)|NVML: .{0,40}[Ff]ail).{0,120})",
    ),
    row(
        "gres_duplicate",
        "duplicate records",
        r"gres\.conf duplicate records for (?P<gres>[\w:/-]{1,64})",
    ),
    row(
        "gres_error",
        "gres",
        r"(?P<reason>(?:.{0,40}gres plugin failed|gres/\w{1,16}: .{0,60}(?:failed"
        r"|unable|invalid|missing)).{0,120})",
    ),
    row(
        "hardware_differs",
        "differs from hardware",
        r"Node configuration differs from hardware: (?P<differences>.{1,400})",
    ),
    row(
        "registration_failed",
        "Unable to register",
        r"Unable to register(?: with slurm controller)?[:;,] ?(?P<reason>.{1,120})",
    ),
    row(
        "configuration_failed",
        "configuration",
        r"(?P<reason>_establish_configuration: .{1,100}|_fetch_child: failed to fetch "
        r"remote configs.{0,80})",
    ),
    row("initialization_failed", "slurmd initialization failed", r"slurmd initialization failed"),
    row(
        "prolog_failed",
        "rolog",
        r"(?:\[job (?P<job_id>[0-9]{1,12})\] )?(?:_run_prolog: )?(?P<reason>[Pp]rolog "
        r"(?:failed|error|killed).{0,100})",
    ),
    row(
        "epilog_failed",
        "pilog",
        r"(?:\[job (?P<job_id>[0-9]{1,12})\] )?(?P<reason>[Ee]pilog (?:failed|error"
        r"|killed).{0,100})",
    ),
    row(
        "health_check_failed",
        "health_check",
        r"(?P<reason>health_check (?:failed|did not|didn't|error).{0,120})",
    ),
    row(
        "step_oom",
        "oom",
        r"Detected (?P<found_count>[0-9]{1,9}) oom[-_ ]kill events? in (?:StepId="
        r"|step )?(?P<step>\S{1,40}?)[.,]?(?:\s|$)",
    ),
    row(
        "controller_unreachable",
        "slurmctld",
        r"(?P<reason>Unable to (?:contact|connect to) slurm(?:ctld)? .{0,80}"
        r"|.{0,40}No response from slurmctld.{0,60})",
    ),
    row("@version", "slurmd version", r"slurmd version (?P<version>[0-9][\w.-]{1,40}) started"),
)
SLURMCTLD = (
    row(
        "gres_count_changed",
        "Count changed on node",
        r"gres/(?P<gres>[\w:/-]{1,64}): Count changed on node "
        + _NODE
        + r" \((?P<before_count>[0-9]{1,9}) != (?P<now_count>[0-9]{1,9})\)",
    ),
    row(
        "node_state_set",
        "Setting node",
        r"Setting node "
        + _NODE
        + (
            r" (?:state )?to (?P<state>[A-Za-z_+*]{2,40})(?: with reason: ?(?P<reason>"
            r"(?:gres/(?P<gres>[\w:/-]{1,64}) count reported lower than configured "
        )
        + _LESS
        + r"|.{1,200})))?",
        "state",
    ),
    row(
        "node_state_set",
        "state set to",
        r"(?:drain_nodes|update_node|set_node_down_ptr|\w{3,40}): nodes? "
        + _NODE
        + r" state set to (?P<state>[A-Za-z_+*]{2,40})",
        "state",
    ),
    row(
        "node_reason_set",
        "reason set to",
        r"update_node: node " + _NODE + r" reason set to: ?(?P<reason>.{1,200})",
    ),
    row(
        "node_not_responding",
        "not responding",
        r"[Nn]odes? " + _NODE + r" not responding(?:, setting (?P<state>DOWN))?",
        "state",
    ),
    row("node_returned", "now responding", r"[Nn]odes? " + _NODE + r" now responding"),
    row("node_returned", "returned to service", r"[Nn]odes? " + _NODE + r" returned to service"),
    row(
        "node_low_resource",
        "has low",
        r"Node "
        + _NODE
        + (
            r" has low (?P<resource>[a-z_*]{2,40}) (?:count|size) \(?"
            r"(?P<found_count>[0-9]{1,15})(?: / [0-9.]{1,8}%\))? ?< "
            r"(?P<configured_count>[0-9]{1,15})\)?"
        ),
        "resource",
    ),
    row(
        "gres_invalid",
        "GRES core specification",
        r"gres/(?P<gres>\w{1,32}): (?P<reason>invalid GRES core specification "
        r"\([^)]{1,120}\)) on node " + _NODE,
    ),
    row(
        "registration_rejected",
        "_slurm_rpc_node_registration",
        r"_slurm_rpc_node_registration node=" + _NODE + r": (?P<reason>.{1,120})",
    ),
    row(
        "node_rebooted",
        "unexpectedly rebooted",
        r"Node " + _NODE + r" unexpectedly rebooted boot_time=(?P<boot_time>[0-9]{1,12})",
    ),
    row(
        "configuration_differs",
        "different slurm.conf",
        r"[Nn]ode " + _NODE + r" appears to have a different slurm\.conf",
    ),
    row(
        "version_differs",
        "different version of Slurm",
        r"[Nn]ode " + _NODE + r" appears to have a different version of Slurm",
    ),
    row(
        "job_requeued",
        "due to failure of node",
        r"[Rr]equeue (?:job )?" + _JOB + r" due to failure of node " + _NODE,
    ),
    row(
        "job_killed", "on failed node", r"[Kk]illing (?:job )?" + _JOB + r" on failed node " + _NODE
    ),
    row(
        "slurmd_error",
        "slurmd error running",
        r"slurmd error running " + _JOB + r" on node\(s\)=" + _NODE + r": (?P<reason>.{1,120})",
    ),
    row(
        "agent_error",
        "agent/is_node_resp",
        r"agent/is_node_resp: node:" + _NODE + r" RPC:(?P<rpc>\S{1,60}) ?: (?P<reason>.{1,120})",
    ),
    row("unknown_node", "lookup failure", r"lookup failure for node \"?" + _NODE),
    row(
        "dbd_unreachable",
        "persist",
        r"(?P<reason>(?:slurm_persist_conn_open\w{0,20}|.{0,30}slurmdbd).{0,20}: .{0,160})",
    ),
    row(
        "@version",
        "slurmctld version",
        r"slurmctld version (?P<version>[0-9][\w.-]{1,40}) started(?: on cluster "
        r"(?P<cluster>\S{1,64}))?",
    ),
    row("@primary", "primary controller", r"Running as primary controller"),
    row(
        "@job",
        "JobId=",
        r"(?:sched: |_slurm_rpc_submit_batch_job: |_job_complete: |sched/backfill: "
        r")\S{0,60} ?.{0,20}JobId=[0-9]",
    ),
)
