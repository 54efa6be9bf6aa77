"""The InfiniBand class of sysfs: what libibumad, ibstat and NCCL read of an adapter. Pure.

Formats are those of Linux 6.1, drivers/infiniband/core/sysfs.c; the counters are the ones that
mlx5 shows there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from trackbed.lab.hardware.model import Adapter, Device, Plan, seeded

Entry = tuple[PurePosixPath, "bytes | PurePosixPath | None"]
_TOP = PurePosixPath("class/infiniband")
_OUI = "946dae"  # one of NVIDIA's (IEEE registration authority)
# IB_PORT_CM_SUP and others, as mlx5 ports of a managed fabric show them (public ibstat outputs).
_CAPABILITIES = {"InfiniBand": "0xa751e848", "Ethernet": "0x00010000"}
_SUBNET_MANAGER_LID = 1
_COUNTERS = (
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets",
    "port_rcv_constraint_errors", "port_rcv_data", "port_rcv_errors", "port_rcv_packets",
    "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards", "port_xmit_packets",
    "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets",
)  # fmt: skip
_HW_COUNTERS = (
    "duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer",
    "out_of_sequence", "packet_seq_err", "req_cqe_error", "req_cqe_flush_error",
    "req_remote_access_errors", "req_remote_invalid_request", "resp_cqe_error",
    "resp_cqe_flush_error", "resp_local_length_error", "resp_remote_access_errors",
    "rnr_nak_retry_err", "roce_adp_retrans", "roce_adp_retrans_to", "roce_slow_restart",
    "roce_slow_restart_cnps", "roce_slow_restart_trans", "rx_atomic_requests", "rx_dct_connect",
    "rx_icrc_encapsulated", "rx_read_requests", "rx_write_requests",
)  # fmt: skip


def names(plan: Plan) -> dict[str, str]:
    """Return the RDMA name of each adapter by its address: numbered in the order of the buses."""
    found = [device.address for device in plan.devices if device.adapter is not None]
    return {address: f"mlx5_{number}" for number, address in enumerate(found)}


def guid_of(device: Device, plan: Plan) -> str:
    """Return the adapter's GUID: sixteen hexadecimal digits."""
    return f"{_OUI}0300{seeded('guid', plan.node, device.name or device.address, bits=24):06x}"


def entries(plan: Plan) -> Iterator[Entry]:
    """Yield everything below class/infiniband."""
    listed = names(plan)
    if listed:
        yield _TOP, None
    for number, device in enumerate(d for d in plan.devices if d.adapter is not None):
        assert device.adapter is not None  # noqa: S101  (for mypy)
        here = _TOP / listed[device.address]
        for path, text in _files(plan, device, device.adapter, number).items():
            yield here / path, f"{text}\n".encode()
        yield here / "device", PurePosixPath("../../../bus/pci/devices") / device.address


def links(plan: Plan, device: Device, here: PurePosixPath) -> Iterator[Entry]:
    """Yield what the adapter's PCI device, at `here`, says of its RDMA device."""
    name = names(plan)[device.address]
    yield here / "infiniband", None
    yield here / "infiniband" / name, PurePosixPath("../../../../../class/infiniband") / name


def _groups(digits: str) -> str:
    return ":".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def _files(plan: Plan, device: Device, adapter: Adapter, number: int) -> dict[str, str]:
    guid = guid_of(device, plan)
    fabric = adapter.link_layer == "InfiniBand"
    lid = 2 + seeded("lid", plan.node, device.address, bits=12) if fabric and adapter.up else 0
    files = {
        "node_guid": _groups(guid),
        "sys_image_guid": _groups(guid),
        "fw_ver": adapter.firmware,
        "hca_type": adapter.ca_type,
        "hw_rev": "0",
        "board_id": adapter.board_id,
        "node_type": "1: CA",
        "node_desc": f"{plan.node} HCA-{number + 1}",
        "ports/1/state": "4: ACTIVE" if adapter.up else "1: DOWN",
        "ports/1/phys_state": "5: LinkUp" if adapter.up else "3: Disabled",
        "ports/1/rate": adapter.rate if adapter.up else _down_rate(adapter),
        "ports/1/lid": f"{lid:#x}",
        "ports/1/lid_mask_count": "0",
        "ports/1/sm_lid": f"{_SUBNET_MANAGER_LID if lid else 0:#x}",
        "ports/1/sm_sl": "0",
        "ports/1/cap_mask": _CAPABILITIES[adapter.link_layer],
        "ports/1/link_layer": adapter.link_layer,
        "ports/1/gids/0": f"fe80:0000:0000:0000:{_groups(_port_guid(guid, adapter))}",
        "ports/1/gid_attrs/types/0": "IB/RoCE v1",
        "ports/1/pkeys/0": "0xffff",
    }
    for name in _COUNTERS:
        files[f"ports/1/counters/{name}"] = str(_counted(plan, device, name))
    for name in _HW_COUNTERS:
        files[f"ports/1/hw_counters/{name}"] = "0"
    files["ports/1/hw_counters/lifespan"] = "12"
    return files


def _port_guid(guid: str, adapter: Adapter) -> str:
    """Return the port's GUID: the adapter's own, or made from its MAC address (EUI-64)."""
    if adapter.link_layer == "InfiniBand":
        return guid
    return f"{int(guid[:2], 16) ^ 2:02x}{guid[2:6]}fffe{guid[10:]}"


def _down_rate(adapter: Adapter) -> str:
    # mlx5 gives the slowest rate for a port that has no link.
    return "10 Gb/sec (4X SDR)" if adapter.link_layer == "InfiniBand" else "40 Gb/sec (4X QDR)"


def _counted(plan: Plan, device: Device, name: str) -> int:
    """Return a steady value: traffic counters have run, error counters have not."""
    traffic = ("_data", "_packets")
    if not name.endswith(traffic) or "multicast" in name:
        return 0
    return seeded("counter", plan.node, device.address, name, bits=40)
