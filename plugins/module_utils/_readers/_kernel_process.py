# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel writes about processes, lock-ups, itself and its modules, as a table.

Private to trackbed.cluster. Seen in public outputs: OOM and segfault. Hung tasks, lock-ups,
panics and modules are written from knowledge of the messages, without a sample.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

PROCESS = (
    row(
        "oom_kill",
        "ut of memory",
        r"(?P<scope>Memory cgroup out of memory|Out of memory)(?: \([^)]{1,40}\))?: "
        r"Kill(?:ed)? process %(pid)s"
        r"(?: \((?P<process_name>[^)]{1,64})\))?(?:, UID (?P<uid>[0-9]{1,10}),? ?"
        r"(?:\((?P<other_name>[^)]{1,64})\))?)?"
        r"(?:.{0,8}?total-vm:(?P<total_vm_kib>[0-9]{1,15})kB)?(?:, anon-rss:"
        r"(?P<anon_rss_kib>[0-9]{1,15})kB)?",
        "scope",
    ),
    # Up to Linux 4.19 a line of its own, behind `Kill process`.
    row(
        "oom_kill",
        "Killed process",
        r"Killed process %(pid)s \((?P<process_name>[^)]{1,64})\)(?:, UID (?P<uid>[0-9]{1,10}),?)?"
        r"(?: total-vm:(?P<total_vm_kib>[0-9]{1,15})kB)?(?:, anon-rss:"
        r"(?P<anon_rss_kib>[0-9]{1,15})kB)?",
        follows="oom_kill",
        alone=True,
    ),
    row(
        "oom_constraint",
        "oom-kill:",
        r"oom-kill:constraint=(?P<constraint>\w{1,40})(?:.{0,2000}?,oom_memcg="
        r"(?P<memcg>[^,]{1,400}))?(?:.{0,2000}?,task=(?P<process_name>[^,]{1,64}),"
        r"pid=%(pid)s)?",
        "constraint",
    ),
    row(
        "oom_invoked",
        "invoked oom-killer",
        r"(?P<process_name>[^\s:][^:]{0,63}?) invoked oom-killer",
    ),
    row(
        "oom_reaped",
        "oom_reaper",
        r"oom_reaper: reaped process %(pid)s \((?P<process_name>[^)]{1,64})\)",
    ),
    row(
        "hung_task",
        "blocked for more than",
        r"INFO: task (?P<process_name>.{1,64}?):%(pid)s blocked (?:in I/O wait )?for "
        r"more than (?P<blocked_s>[0-9]{1,8}) seconds",
    ),
    row(
        "hung_task",
        "blocked in I/O",
        r"INFO: task (?P<process_name>.{1,64}?):%(pid)s blocked in I/O wait for more "
        r"than (?P<blocked_s>[0-9]{1,8}) seconds",
    ),
    row(
        "soft_lockup",
        "soft lockup",
        r"soft lockup - CPU#(?P<cpu>[0-9]{1,5}) stuck for (?P<stuck_s>[0-9]{1,8})s! "
        r"\[(?P<process_name>[^\]]{1,64}?):%(pid)s\]",
    ),
    row(
        "hard_lockup", "hard LOCKUP", r"[Ww]atchdog detected hard LOCKUP on cpu (?P<cpu>[0-9]{1,5})"
    ),
    row(
        "rcu_stall",
        "stall",
        r"INFO: (?P<flavour>rcu\w{0,24}) (?:self-detected stall on CPU|detected "
        r"(?:expedited )?stalls on CPUs/tasks)",
    ),
    row(
        "segfault",
        "segfault at",
        r"%(process)s\[%(pid)s\]: segfault at (?P<address>[0-9a-f]{1,16}) ip "
        r"(?P<instruction>%(hex)s) sp %(hex)s error (?P<error_code>[0-9a-f]{1,4})"
        r"(?: in (?P<library>[^\[\s]{1,120}))?(?:\[[^\]]{1,60}\])?(?: likely on CPU "
        r"(?P<cpu>[0-9]{1,5}))?",
        "library",
    ),
    row(
        "trap",
        "traps: ",
        r"traps: %(process)s\[%(pid)s\] (?P<reason>[a-z][a-z0-9 ]{2,40}?) ip:"
        r"(?P<instruction>[0-9a-f]{1,16})(?:.{0,60}? in (?P<library>[^\[\s]{1,120}))?",
        "reason library",
    ),
    row("panic", "Kernel panic", r"Kernel panic - not syncing: (?P<reason>.{1,120})"),
    row("kernel_bug", "BUG", r"kernel BUG at (?P<where>\S{1,160}?)!"),
    row(
        "kernel_bug",
        "BUG: ",
        r"BUG: (?P<reason>unable to handle .{1,80}|kernel NULL pointer "
        r"dereference.{0,60}|Bad page .{1,60}|workqueue lockup.{0,80}|scheduling "
        r"while atomic.{0,80}|sleeping function.{0,80})",
    ),
    row(
        "kernel_bug",
        "Oops",
        r"(?P<reason>(?:Internal error: )?Oops(?:: [0-9a-f]{4,16}|[ -]).{0,80})",
    ),
    row(
        "kernel_bug",
        "general protection fault",
        r"(?P<reason>general protection fault(?:, |: )[a-z0-9].{0,80})",
    ),
    row(
        "kernel_warning",
        "WARNING: ",
        r"WARNING: CPU: (?P<cpu>[0-9]{1,5}) PID: %(pid)s at (?P<where>\S{1,160})",
        "where",
    ),
    row(
        "page_allocation_failure",
        "page allocation failure",
        r"(?P<process_name>[^\s:][^:]{0,63}): page allocation failure: order:(?P<order>[0-9]{1,3})",
        "order",
    ),
    row(
        "module_symbol",
        "symbol",
        r"(?P<module>[\w-]{2,60}): (?P<reason>(?:disagrees about version of "
        r"symbol|Unknown symbol(?: in module)?|no symbol version for) .{1,80})",
        "module",
    ),
    row(
        "module_rejected",
        "module is rejected",
        r"(?P<reason>Loading of .{1,60} is rejected.{0,40})",
    ),
    row(
        "module_rejected",
        "unsigned module",
        r"(?P<reason>Lockdown: .{1,40}: unsigned module loading is restricted.{0,40})",
    ),
    row(
        "module_rejected",
        "version magic",
        r"(?P<module>[\w-]{2,60}): (?P<reason>version magic .{1,120})",
        "module",
    ),
    row(
        "module_unsigned",
        "module verification failed",
        r"(?P<module>[\w-]{2,60}): (?P<reason>module verification failed: .{1,100})",
        "module",
    ),
    row("@kernel", "Linux version", r"Linux version (?P<kernel_version>\S{1,120})"),
    row("@cmdline", "Command line: ", r"(?:Kernel c|C)ommand line: (?P<command_line>.{1,2048})"),
    row(
        "@suppressed",
        "suppressed",
        r"(?P<lines>[0-9]{1,9}) (?:\S{1,40} )?(?:callbacks|messages) suppressed",
    ),
    row("@suppressed", "uppressed", r"Suppressed (?P<lines>[0-9]{1,9}) messages"),
    row("@suppressed", "issed", r"Missed (?P<lines>[0-9]{1,9}) kernel messages"),
    row("@lost", "buffer overrun", r"/dev/kmsg buffer overrun, some messages lost"),
)
