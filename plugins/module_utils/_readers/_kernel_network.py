# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What network drivers write into the kernel log, as a table.

Private to trackbed.cluster. Seen in public outputs: module and slot power of mlx5
(https://github.com/geerlingguy/arm-nas/issues/16), its failed start
(https://github.com/PeterSuh-Q3/tinycore-redpill/issues/9), `Lost carrier` of systemd-networkd.
Health, commands, temperature and the other drivers are written from knowledge of the
messages, without a sample.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_MLX5 = (
    r"mlx5_core %(pci)s(?: (?P<device>%(if)s))?(?: \([^)]{1,40}\))?: "
    r"(?:[a-z]\w{2,50}:[0-9]{1,6}:\(pid [0-9]{1,10}\): )?"
)
_WATCHDOG = (
    r"NETDEV WATCHDOG: (?:(?P<device>%(if)s) \((?P<driver>[\w-]{1,32})\): |CPU: "
    r"[0-9]{1,5}: )?transmit queue (?P<queue>[0-9]{1,5}) timed out"
)
NETWORK = (
    row("link_down", "Link down", _MLX5 + r"Link down"),
    row("link_up", "Link up", _MLX5 + r"Link up"),
    row(
        "port_module",
        "Port module event",
        _MLX5
        + (
            r"Port module event(?:\[error\])?: module (?P<module_number>[0-9]{1,3}), "
            r"(?P<reason>.{1,100})"
        ),
        "reason",
    ),
    row(
        "nic_health",
        "mlx5_core",
        _MLX5
        + (
            r"(?P<reason>Health issue observed, [^,]{1,80})(?:, severity\("
            r"(?P<severity_number>[0-9]{1,2})\) ?(?P<severity>\w{1,20})?)?"
        ),
        "reason",
    ),
    row(
        "nic_health",
        "mlx5_core",
        _MLX5
        + r"(?P<reason>device's health compromised.{0,60}|Fatal error [0-9]{1,10} detected.{0,40}"
        r"|handling bad device here|nic disabled.{0,20}|firmware internal "
        r"error.{0,40}|NIC IFC still [0-9]{1,4} after.{0,40}"
        r"|PCI slot is unavailable|health recovery (?:failed|succeeded|flow "
        r"aborted).{0,60}|nic interface.{0,40}failed)",
        "reason",
    ),
    row(
        "nic_health",
        "synd 0x",
        _MLX5 + r"synd (?P<syndrome>0x[0-9a-f]{1,8}): (?P<reason>.{1,80})",
        follows="nic_health",
        alone=True,
    ),
    row(
        "nic_command_timeout",
        "mlx5_core",
        _MLX5
        + (
            r"(?:cmd\S{0,8}\[?.{0,12}?: )?(?P<command>[A-Z][A-Z0-9_]{2,48})\("
            r"(?P<opcode>0x[0-9a-f]{1,6})\).{0,30}?(?:timeout|timed out|No done "
            r"completion|canceled on out of queue)"
        ),
        "command",
    ),
    row(
        "nic_command_failed",
        "mlx5_core",
        _MLX5 + r"(?P<command>[A-Z][A-Z0-9_]{2,48})\((?P<opcode>0x[0-9a-f]{1,6})\) "
        r"op_mod\(0x[0-9a-f]{1,6}\).{0,40}? failed,"
        r" status (?P<reason>[a-z ]{2,60}\(0x[0-9a-f]{1,4}\)), syndrome \("
        r"(?P<syndrome>0x[0-9a-f]{1,8})\)(?:, err\((?P<error_number>-[0-9]{1,4})\))?",
        "command",
    ),
    row(
        "nic_tx_timeout",
        "TX timeout",
        _MLX5 + r"TX timeout (?:detected|on queue: (?P<queue>[0-9]{1,5}))",
    ),
    row(
        "nic_tx_timeout",
        "NETDEV WATCHDOG",
        r"(?:\w{2,20} %(pci)s (?P<interface>%(if)s): )?" + _WATCHDOG,
    ),
    row(
        "nic_slot_power",
        "PCIe slot",
        _MLX5
        + (
            r"(?P<reason>Detected insufficient power on the PCIe slot|PCIe slot "
            r"advertised sufficient power|PCIe slot power capability was not "
            r"advertised)(?: \((?P<slot_power_w>[0-9]{1,5})W\))?"
        ),
        "reason",
    ),
    row(
        "nic_temperature",
        "igh temperature",
        _MLX5 + r"(?P<reason>.{0,40}[Hh]igh temperature on sensor.{0,80})",
    ),
    row(
        "nic_init_failed",
        "mlx5_core",
        _MLX5
        + (
            r"(?P<reason>.{0,60}?(?:mlx5_load_one|mlx5_init_one|mlx5_function_\w{2,20}"
            r"|probe_one|init_one|handle_hca_cap|enable hca|init hca|set_hca_ctrl"
            r"|Firmware over [0-9]{1,8} MS in).{0,30}?(?:fail\w{0,2}"
            r"|abort\w{0,3}|state|initializing).{0,60})"
        ),
    ),
    row(
        "nic_init_failed",
        "mlx5_core",
        r"mlx5_core(?:: probe of %(pci)s| (?P<device>%(bdf)s): probe with driver "
        r"mlx5_core) failed with error (?P<error_number>-[0-9]{1,4})",
    ),
    row(
        "cqe_error",
        "dump error cqe",
        r"(?P<device>mlx5_[0-9]{1,3}|mlx5_\w{1,24}): ?dump_cqe:[0-9]{1,6}:\(pid "
        r"[0-9]{1,10}\): dump error cqe",
    ),
    row("carrier_lost", "ost carrier", r"(?P<device>%(if)s): Lost carrier"),
    row("carrier_gained", "ained carrier", r"(?P<device>%(if)s): Gained carrier"),
    row(
        "link_down",
        "link down",
        r"(?:%(pci)s )?(?P<device>(?!Slot)%(if)s): (?:[Ll]ink|carrier) (?:is )?(?:down|lost)\b",
    ),
    row(
        "link_down",
        "ink is Down",
        r"(?:%(pci)s )?(?P<device>%(if)s):? (?:NIC )?(?:Copper |Fibre )?Link is Down",
    ),
    row(
        "link_up",
        "ink is Up",
        r"(?:%(pci)s )?(?P<device>%(if)s):? (?:NIC )?(?:Copper |Fibre )?Link is Up",
    ),
    row(
        "link_down",
        "definitely down",
        r"(?P<bond>%(if)s): (?:\(slave (?P<device>%(if)s)\): )?link status definitely "
        r"down(?: for interface (?P<interface>%(if)s))?",
    ),
    row(
        "link_up",
        "definitely up",
        r"(?P<bond>%(if)s): (?:\(slave (?P<device>%(if)s)\): )?link status definitely "
        r"up(?: for interface (?P<interface>%(if)s))?",
    ),
    row(
        "link_down",
        "ink is down",
        r"(?:%(pci)s )?(?P<device>%(if)s):? (?:NIC )?(?:Copper |Fibre )?Link is down",
    ),
    row(
        "link_up",
        "ink is up",
        r"(?:%(pci)s )?(?P<device>%(if)s):? (?:NIC )?(?:Copper |Fibre )?Link is up",
    ),
    row(
        "link_down",
        "ort",
        r"(?:(?P<device>mlx[45]_(?!core)\w{1,24}|ib[a-z0-9]{1,20})|mlx5_core "
        r"%(pci)s): .{0,24}?[Pp]ort:? ?(?P<port>[0-9]{1,3}) "
        r"(?:logical )?[Ll]ink (?:is )?(?:DOWN|down)",
        "port",
    ),
    row(
        "link_up",
        "ort",
        r"(?:(?P<device>mlx[45]_(?!core)\w{1,24}|ib[a-z0-9]{1,20})|mlx5_core "
        r"%(pci)s): .{0,24}?[Pp]ort:? ?(?P<port>[0-9]{1,3}) "
        r"(?:logical )?[Ll]ink (?:is )?(?:ACTIVE|up|UP)",
        "port",
    ),
    # What is in no row above, but says itself that it is an error.
    row(
        "nic_error",
        "mlx5_core",
        _MLX5 + r"(?P<reason>.{0,120}?(?:[Ff]ail|[Ee]rror|[Tt]ime(?:d )?out|[Uu]nable).{0,100})",
    ),
)
