"""SMBIOS tables, the InfiniBand class, and the faults of both, byte by byte and by real tools."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from trackbed.errors import UsageError
from trackbed.lab import faults
from trackbed.lab.hardware import infiniband, plan_of, skus, smbios, write_tree
from trackbed.lab.hardware.sysfs import tree_of
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
NIC5 = "class/infiniband/mlx5_6"  # nic:5: nic:8, the storage adapter, is the second on the bus


def texts(state: NodeState) -> dict[str, str]:
    return {
        str(path): content.decode("latin-1")
        for path, content in tree_of(plan_of(state)).items()
        if isinstance(content, bytes)
    }


def changed(kind: str, target: str) -> dict[str, tuple[str, str]]:
    before, after = texts(STATE), texts(faults.apply(STATE, target, kind))
    assert set(before) == set(after)
    return {path: (before[path], after[path]) for path in before if before[path] != after[path]}


def test_an_old_bios_is_told_in_the_tables_and_in_sysfs():
    found = changed("bios_old", "node")
    assert found.pop("class/dmi/id/bios_version") == ("1.6\n", "1.4\n")
    assert found.pop("class/dmi/id/bios_date") == ("03/18/2026\n", "08/05/2025\n")
    before, after = found.pop("firmware/dmi/tables/DMI")
    assert "08/05/2025" in after
    assert "08/05/2025" not in before
    assert found == {}


def test_a_missing_module_empties_one_slot_and_no_other():
    found = changed("dimm_missing", "node")
    assert set(found) == {"firmware/dmi/tables/DMI", "firmware/dmi/tables/smbios_entry_point"}
    before, after = found["firmware/dmi/tables/DMI"]
    assert after.count("NO DIMM") == 4
    assert before.count("M321R8GA0BB0-CQKZJ") - after.count("M321R8GA0BB0-CQKZJ") == 1


def test_a_port_without_a_link():
    found = {path.removeprefix(f"{NIC5}/"): new for path, (_, new) in
             changed("ib_link_down", "nic:5").items()}  # fmt: skip
    assert found == {
        "ports/1/state": "1: DOWN\n",
        "ports/1/phys_state": "3: Disabled\n",
        "ports/1/rate": "10 Gb/sec (4X SDR)\n",
        "ports/1/lid": "0x0\n",
        "ports/1/sm_lid": "0x0\n",
    }


def test_a_port_at_half_its_rate_and_an_old_firmware():
    assert changed("ib_half_rate", "nic:5") == {
        f"{NIC5}/ports/1/rate": ("400 Gb/sec (4X NDR)\n", "200 Gb/sec (2X NDR)\n")
    }
    assert changed("nic_fw_old", "nic:5") == {f"{NIC5}/fw_ver": ("28.43.1014\n", "28.41.1002\n")}


def test_a_gpu_is_no_adapter():
    with pytest.raises(UsageError, match="ib_link_down cannot be planted on 'gpu:1'"):
        faults.apply(STATE, "gpu:1", "ib_link_down")


@pytest.mark.parametrize("sku", skus())
def test_every_adapter_has_its_device_and_an_identity_of_its_own(sku: str):
    plan = plan_of(NodeState("gpu-001", sku))
    names = infiniband.names(plan)
    assert len(names) >= 9
    tree = tree_of(plan)
    guids = [tree[path] for path in tree if path.name == "node_guid"]
    assert len(set(guids)) == len(names)
    for address, name in names.items():
        assert any(str(path) == f"class/infiniband/{name}/device" for path in tree)
        assert any(str(path).endswith(f"{address}/infiniband/{name}") for path in tree)


def test_an_ethernet_port_has_the_guid_of_its_mac_address():
    plan = plan_of(STATE)
    device = next(one for one in plan.devices if one.name == "nic:8")
    gid = texts(STATE)["class/infiniband/mlx5_1/ports/1/gids/0"].strip()
    guid = infiniband.guid_of(device, plan)
    digits = gid.replace(":", "")[16:]
    assert digits == f"966dae{'fffe'}{guid[10:]}"


def test_the_entry_point_sums_to_zero_and_knows_the_length():
    files = smbios.tables(plan_of(STATE))
    point = files["smbios_entry_point"]
    assert len(point) == 24
    assert sum(point) & 0xFF == 0
    assert struct.unpack("<I", point[12:16])[0] == len(files["DMI"])


@pytest.mark.skipif(shutil.which("dmidecode") is None, reason="dmidecode is not installed")
def test_the_real_dmidecode_reads_it(tmp_path: Path):
    tables = smbios.tables(plan_of(faults.apply(STATE, "node", "dimm_missing")))
    # A dump is the entry point, which then points behind itself, and the tables at offset 32.
    point = bytearray(tables["smbios_entry_point"])
    point[16:24] = struct.pack("<Q", 32)
    point[5] = 0
    point[5] = -sum(point) & 0xFF
    dump = tmp_path / "dump"
    dump.write_bytes(bytes(point).ljust(32, b"\0") + tables["DMI"])
    argv = ["dmidecode", "--from-dump", str(dump)]
    said = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout
    assert not re.search("(?i)broken|truncated|bad|mismatch", said)
    assert said.count("Size: 64 GB") == 31
    assert said.count("Size: No Module Installed") == 1
    assert said.count("Configured Memory Speed: 4800 MT/s") == 31
    assert "Product Name: TL-8U-SPR" in said
    assert said.count("Core Count: 56") == 2


def test_the_same_names_make_the_same_bytes(tmp_path: Path):
    for name in ("a", "b"):
        write_tree(STATE, tmp_path / name)
    for path in ("firmware/dmi/tables/DMI", f"{NIC5}/node_guid"):
        assert (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
