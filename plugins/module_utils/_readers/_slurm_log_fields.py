# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of the logs of Slurm's daemons. Private to trackbed.cluster."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

LEVELS = ("fatal", "error", "warning", "info", "verbose", "debug", "sched")
FIELDS: dict[str, dict[str, Field]] = {
    "node": {
        "line_count": Field(int, "lines of the log that are not empty"),
        "level_counts": Field(dict, "level -> lines; levels that are not printed count as info"),
        "event_count": Field(int, "events (bursts) that are kept"),
        "slurm_version": Field(str, "version that the daemon gave when it started last"),
        "cluster": Field(str, "name of the cluster"),
        "start_count": Field(int, "starts of the daemon in the log"),
        "hosts": Field(list, "hosts that the form names, up to 64"),
        "first_time": Field(str, "time of the first line that has one, as printed"),
        "last_time": Field(str, "time of the last line that has one, as printed"),
    },
    "slurm_node": {
        "states_set": Field(list, "states that the log says were set, in order, up to 50"),
        "reason": Field(str, "last reason that was given"),
        "not_responding_count": Field(int, "lines that say it does not respond"),
        "found_count": Field(int, "last number that the node reported of what it has too few of"),
        "configured_count": Field(int, "the number that is configured for it"),
    },
    "event": {
        "kind": Field(str, "what happened; `other` for an error that is in no table"),
        "level": Field(str, "level of the line", values=LEVELS),
        "count": Field(int, "lines of this burst"),
        "first_time": Field(str, "time of the first line, as printed"),
        "last_time": Field(str, "time of the last line, as printed"),
        "line": Field(int, "number of the first line in the input, from 1"),
        "text": Field(str, "first line without stamp and level, cut to 300 characters"),
        "host": Field(str, "host that wrote the line, where the form names one"),
        "node": Field(str, "Slurm node or node list that the line is about"),
        "reason": Field(str, "what the message itself gives as detail"),
        "state": Field(str, "state that is set, lower case"),
        "file": Field(str, "file that the message is about"),
        "gres": Field(str, "generic resource"),
        "before_count": Field(int, "left number of a change"),
        "now_count": Field(int, "right number of a change"),
        "found_count": Field(int, "number that was found"),
        "configured_count": Field(int, "number that is configured"),
        "resource": Field(str, "what the node has too little of"),
        "library": Field(str, "library that was to detect GPUs"),
        "differences": Field(dict, "name -> [configured, found], only where they differ"),
        "job_id": Field(int, "job"),
        "step": Field(str, "job step"),
        "rpc": Field(str, "RPC"),
        "unit": Field(str, "systemd unit"),
        "exit_code": Field(str, "how the process ended: exited, killed, dumped"),
        "exit_status": Field(int, "its exit status or signal"),
        "boot_time": Field(int, "when the node booted, seconds since 1970", "s"),
    },
}
