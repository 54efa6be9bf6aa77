"""The stand-in nvidia-smi: what it tells, what it changes, and how it refuses."""

from __future__ import annotations

import copy
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from smi_node import LIBRARIES, SmiNode

from trackbed.lab import faults
from trackbed.lab.hardware.facts import paths
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
DRIVERS = ("535.161.08", "550.90.07", "570.148.08", "580.126.09", "590.48.01", "595.71.05",
           "610.57.04")  # fmt: skip


class Smi:
    """The program on one node."""

    def __init__(self, node: SmiNode, capsys: pytest.CaptureFixture[str]) -> None:
        self.node, self.capsys = node, capsys
        self.document = node.state(STATE)
        self.buses = [f"0000{gpu['pci'].upper()}" for gpu in self.document["gpus"]]
        node.driver("580.126.09", "580.126.09")

    def __call__(self, *words: str) -> tuple[int, str]:
        return self.node.run(self.capsys, *words)

    def ok(self, *words: str) -> str:
        code, said = self(*words)
        assert code == 0, said
        return said

    def values(self, fields: str, *words: str) -> list[list[str]]:
        said = self.ok(f"--query-gpu={fields}", "--format=csv,noheader,nounits", *words)
        return [line.split(", ") for line in said.splitlines()]


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smi:
    return Smi(SmiNode(tmp_path, monkeypatch), capsys)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("installed", "loaded", "code", "said"),
    [
        (None, "580.126.09", 12, "couldn't find libnvidia-ml.so library"),
        ("580.126.09", None, 9, "couldn't communicate with the NVIDIA driver"),
        ("580.126.09", "570.211.01", 18, "Driver/library version mismatch\nNVML library version: "
         "580.126\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [(), ("-q", "-x"), ("-L",), ("-pm", "1"), ("--version",)])
def test_without_its_driver_it_ends_with_the_vendors_words(
    smi: Smi, installed: str | None, loaded: str | None, code: int, said: str, words: tuple[str]
) -> None:
    smi.node.driver(installed, loaded)
    assert smi(*words) == (code, smi(*words)[1])
    assert said in smi(*words)[1]


def test_a_library_without_its_file_is_no_library(smi: Smi) -> None:
    (smi.node.top / LIBRARIES / "libnvidia-ml.so.580.126.09").unlink()
    assert smi()[0] == 12


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--colour",), 2, "Option --colour is not recognized"),
        (("-i",), 2, "Option -i needs a value"),
        (("-i", "9"), 6, "No devices were found"),
        (("--query-gpu=index,colour", "--format=csv"), 2,
         'Field "colour" is not a valid field to query.'),
        (("--query-compute-apps=pid,colour", "--format=csv"), 2, 'Field "colour"'),
        (("--query-gpu=index",), 2, '"--format=" switch is missing'),
        (("-q", "-d", "COLOUR"), 2, "COLOUR"),
        (("topo", "-x"), 2, "topo"),
        (("nvlink", "-x"), 2, "nvlink"),
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_refused(
    smi: Smi, words: tuple[str, ...], code: int, said: str
) -> None:
    assert smi(*words)[0] == code
    assert said in smi(*words)[1]


def test_a_gpu_off_the_bus_is_lost(smi: Smi) -> None:
    smi.node.state(faults.apply(STATE, "gpu:5", "gpu_off_bus"))
    for words in ((), ("-L",), ("-q", "-x")):
        code, said = smi(*words)
        assert code == 15
        assert said.startswith("Unable to determine the device handle for GPU 0000:BB:00.0: GPU is")
    assert smi("-L", "-i", "4")[0] == 0


def test_a_missing_gpu_is_not_listed(smi: Smi) -> None:
    smi.node.state(faults.apply(STATE, "gpu:5", "gpu_missing"))
    assert len(smi.ok("-L").splitlines()) == 7
    assert "Attached GPUs" in smi.ok("-q")
    smi.node.machine({**smi.document, "gpus": []})
    assert smi() == (6, "No devices were found\n")


@pytest.mark.parametrize(
    ("key", "words"), [("reset_required", "GPU requires reset"), ("unknown_error", "Unknown Error")]
)
def test_a_gpu_that_does_not_answer_says_so_for_live_values(smi: Smi, key: str, words: str) -> None:
    smi.document["gpus"][2][key] = True
    smi.node.machine(smi.document)
    rows = smi.values("index,temperature.gpu,utilization.gpu,name")
    assert rows[2] == ["2", f"[{words}]", f"[{words}]", "NVIDIA H100 80GB HBM3"]
    assert rows[3][1].isdigit()
    root = ET.fromstring(smi.ok("-q", "-x"))
    assert root.findall("gpu")[2].findtext("temperature/gpu_temp") == words
    assert f": {words}" in smi.ok("-q", "-i", "2")
    table = [line for line in smi.ok().splitlines() if "ERR!" in line]
    assert len(table) == 3
    assert {len(line) for line in table} == {91}


# --- which GPUs ----------------------------------------------------------------------------------


def test_gpus_are_chosen_by_index_uuid_serial_and_bus(smi: Smi) -> None:
    gpu = smi.document["gpus"][5]
    for name in ("5", gpu["uuid"], gpu["serial"], "00000000:BB:00.0", "0000:bb:00.0", "bb:00.0"):
        assert smi.values("uuid", "-i", name) == [[gpu["uuid"]]]
    assert smi.values("index", "--id=1,3") == [["1"], ["3"]]
    said = smi.ok("-q", "-i", "5")
    assert re.search(r"Attached GPUs +: 8\n", said)
    assert said.count("\nGPU 0") == 1


# --- what it tells -------------------------------------------------------------------------------

# What no output of the program has, and why.
UNSEEN = {
    "model": "the lab's own name",
    "nvlink.version": "nvlink -s prints speeds",
    "nvlink.mb_s": "each link has its own",
    "nvlink.links.0.remote": "not printed by -s, -e, -c",
    "nvlink.counters": "shown by the links",
    "clocks.busy": "shown when it is busy",
    "ecc.repairs": "the lab's own note",
    "memory.bandwidth_percent": "only what measures it can tell",
    "mig.devices": "shown while MIG is on; see the recorded outputs",
}
WORDS = (
    (), ("-q",), ("-q", "-x"), ("-L",), ("topo", "-m"), ("topo", "-p2p", "r"), ("nvlink", "-s"),
    ("nvlink", "-e"), ("nvlink", "-c"),
)  # fmt: skip


def other(value: Any, path: str) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + (3000 if path.endswith("_kib") else 3)
    if path == "processes":
        return [{"pid": 4242, "type": "C", "name": "train", "memory_mib": 900}]
    if isinstance(value, list):
        return []
    special = {
        "pci": "0000:55:00.0", "pci_id": "10de:ffff", "subsystem": "10de:ffff",
        "pci_class": "030100", "architecture": "Ampere", "nvlink.links.0.state": "inactive",
        "fabric.state": "In Progress", "forced.compute_mode": "Prohibited",
        "memory.used_mib": 77, "gpu_numa_id": 4, "power.cap_w": 300.0, "edpp_multiplier": 99.0,
        "voltage_mv": 670.0, "inforom.bbx_duration_us": 7, "forced.persistence": True,
        "forced.mig": True, "events.idle": False, "fabric.clique": 4,
    }  # fmt: skip
    if path.startswith("power.module"):
        return 400.0
    return special.get(path, "other")


def everything(smi: Smi) -> list[str]:
    """Return all that the program tells, in an old and a new driver."""
    found = []
    for driver in ("535.161.08", "595.71.05"):
        smi.node.driver(driver, driver)
        names = smi.ok("--help-query-gpu").replace('"', "").split()
        names = [name for name in names if name != "timestamp"]
        found += [smi(f"--query-gpu={','.join(names)}", "--format=csv")[1]]
        found += [smi(*words)[1] for words in WORDS]
    return [re.sub(r"(?m)^.*\d\d:\d\d:\d\d 20.*$", "", text) for text in found]


def test_every_value_of_the_machine_shows(smi: Smi) -> None:
    document = {**smi.document, "gpus": smi.document["gpus"][:2]}
    smi.node.machine(document)
    smi.node.settings({"fabric": {"state": "Completed"}})
    before = everything(smi)
    unseen = []
    several = re.compile(r".*(links|supported)\.[1-9]")  # the first stands for all
    listed = [path for path in paths(document["gpus"][0]) if not several.match(path)]
    for path in listed:
        if path == "device":
            continue
        changed = copy.deepcopy(document)
        *above, last = path.split(".")
        place: Any = changed["gpus"][0]
        for key in above:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[int(last) if isinstance(place, list) else last] = other(
            place[int(last)] if isinstance(place, list) else place[last], path
        )
        smi.node.machine(changed)
        if everything(smi) == before:
            unseen.append(path)
    assert [path for path in unseen if not path.startswith(tuple(UNSEEN))] == []
    assert len(listed) > 120


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_driver_tells_the_same_of_the_same_machine(smi: Smi, driver: str) -> None:
    smi.node.driver(driver, driver)
    gpu = smi.document["gpus"][3]
    text, root = smi.ok("-q", "-i", "3"), ET.fromstring(smi.ok("-q", "-x", "-i", "3"))
    assert root.findtext("driver_version") == driver
    for label, tag, value in (
        ("GPU UUID", "uuid", gpu["uuid"]),
        ("VBIOS Version", "vbios_version", gpu["vbios"]),
        ("GPU Current Temp", "temperature/gpu_temp", f"{gpu['temperature']['gpu_c']} C"),
        ("Max Power Limit", "gpu_power_readings/max_power_limit", "700.00 W"),
    ):
        assert re.search(rf"(?m)^ *{label} +: {re.escape(value)}$", text)
        assert root.findtext(f"gpu/{tag}") == value
    table = smi.ok()
    assert {len(line) for line in table.splitlines()[1:] if line.strip()} == {91}
    assert table.count("NVIDIA H100 80GB HBM3") == 8
    assert ("KMD Version" in table) is (driver >= "610")


def test_sections_show_what_they_are_named_for(smi: Smi) -> None:
    said = smi.ok("-q", "-d", "ECC,row_remapper", "-i", "0")
    assert "ECC Errors" in said
    assert "Remapped Rows" in said
    assert "Temperature" not in said
    clocks = smi.ok("-q", "-d", "SUPPORTED_CLOCKS", "-i", "0")
    assert clocks.count("MHz") == 222
    root = ET.fromstring(smi.ok("-q", "-x", "-d", "TEMPERATURE", "-i", "0"))
    assert [element.tag for element in root[-1]] == ["temperature"]


def test_values_come_with_and_without_header_and_units(smi: Smi) -> None:
    fields = "index,clocks.sm,power.limit,fan.speed"
    said = smi.ok(f"--query-gpu={fields}", "--format=csv", "-i", "0")
    assert said.splitlines() == [
        "index, clocks.current.sm [MHz], power.limit [W], fan.speed [%]",
        "0, 345 MHz, 700.00 W, [N/A]",
    ]
    assert smi.values(fields, "-i", "0") == [["0", "345", "700.00", "[N/A]"]]
    names = smi.ok("--help-query-gpu").replace('"', "").split()
    assert len(smi.values(",".join(names), "-i", "0")[0]) == len(names)


def test_processes_are_listed_everywhere(smi: Smi) -> None:
    job = {"pid": 4242, "type": "C", "name": "/opt/train/" + "x" * 60, "memory_mib": 900}
    smi.document["gpus"][1]["processes"] = [job]
    smi.node.machine(smi.document)
    fields = "gpu_uuid,pid,process_name,used_memory"
    said = smi.ok(f"--query-compute-apps={fields}", "--format=csv")
    assert said.splitlines() == [
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
        f"{smi.document['gpus'][1]['uuid']}, 4242, {job['name']}, 900 MiB",
    ]
    table = smi.ok()
    assert re.search(r"\|    1   N/A  N/A +4242      C   /opt/train/x+\.\.\.900MiB \|", table)
    assert "Process ID                        : 4242" in smi.ok("-q", "-i", "1")
    root = ET.fromstring(smi.ok("-q", "-x"))
    assert root.findtext("gpu/processes/process_info/pid") == "4242"
    assert smi.values("memory.used,clocks.sm", "-i", "1") == [["900", "1980"]]


def test_the_fabric_is_up_when_its_manager_has_run(smi: Smi) -> None:
    fields = "fabric.state,fabric.status"
    assert smi.values(fields, "-i", "0") == [["In Progress", "[N/A]"]]
    assert "\tNS" in smi.ok("topo", "-p2p", "r")
    smi.node.settings({"fabric": {"state": "Completed", "status": "Success"}})
    assert smi.values(fields, "-i", "0") == [["Completed", "Success"]]
    assert "\tNS" not in smi.ok("topo", "-p2p", "r")
    smi.document["gpus"][0]["fabric"]["state"] = "In Progress"
    smi.node.machine(smi.document)
    assert smi.values(fields, "-i", "0") == [["In Progress", "[N/A]"]]


def test_a_link_that_is_down_shows_and_counts(smi: Smi) -> None:
    smi.document["gpus"][2]["nvlink"]["links"][7]["state"] = "inactive"
    smi.node.machine(smi.document)
    assert "\t Link 7: <inactive>\n" in smi.ok("nvlink", "-s", "-i", "2")
    assert "\t Link 7: <inactive>\n" in smi.ok("nvlink", "-e", "-i", "2")
    assert "\t Link 7: <inactive>\n" in smi.ok("nvlink", "--capabilities", "-i", "2")
    rows = [line.split("\t") for line in smi.ok("topo", "-m").splitlines()[1:9]]
    assert {row[3] for row in rows} == {"NV17", " X "}
    assert rows[0][2] == "NV18"


def test_it_writes_to_a_file(smi: Smi, tmp_path: Path) -> None:
    assert smi.ok("-L", "-f", str(tmp_path / "list")) == ""
    assert (tmp_path / "list").read_text(encoding="utf-8") == smi.ok("-L")


def test_help_names_the_version_and_every_option(smi: Smi) -> None:
    from standins.nvidia_smi.options import CHANGES  # type: ignore[import-not-found]  # noqa: PLC0415

    said = smi.ok("--help")
    assert "v580.126.09" in said
    for option in ("-pm", "-pl", "-lgc", "-rgc", "-lmc", "-rmc", "-mig", "-e", "-c", "-p", "-r"):
        assert re.search(rf"(?m){option}\b", said)
    assert len(CHANGES) == 11


# --- what it changes -----------------------------------------------------------------------------


def test_persistence_mode(smi: Smi) -> None:
    assert smi.ok("-pm", "1", "-i", "0") == (
        f"Enabled Legacy persistence mode for GPU {smi.buses[0]}.\nAll done.\n"
    )
    assert smi.values("persistence_mode")[:2] == [["Enabled"], ["Disabled"]]
    assert "already Enabled" in smi.ok("-pm", "1", "-i", "0")
    assert smi.ok("-pm", "0", "-i", "0").startswith("Disabled persistence mode")
    assert smi("-pm", "2")[0] == 2


def test_the_power_limit_is_kept_within_its_bounds(smi: Smi) -> None:
    said = smi.ok("-pl", "450", "-i", "0")
    assert f"Power limit for GPU {smi.buses[0]} was set to 450.00 W from 700.00 W." in said
    assert "Warning: persistence mode is disabled" in said
    assert smi.values("power.limit,enforced.power.limit", "-i", "0") == [["450.00", "450.00"]]
    code, said = smi("-pl", "900")
    assert code == 2
    assert "should be between 200.00 W and 700.00 W" in said
    smi.document["gpus"][0]["power"]["cap_w"] = 300.0
    smi.node.machine(smi.document)
    assert smi.values("power.limit,enforced.power.limit", "-i", "0") == [["450.00", "300.00"]]
    assert smi("-pl", "much")[0] == smi("-lgc", "1,2,3")[0] == 2


def test_clocks_are_locked_and_reset(smi: Smi) -> None:
    said = smi.ok("-lgc", "1410,1410", "-i", "0")
    assert f'GPU clocks set to "(gpuClkMin 1410, gpuClkMax 1410)" for GPU {smi.buses[0]}' in said
    assert smi.values("clocks.sm,clocks.gr", "-i", "0") == [["1410", "1410"]]
    smi.ok("-rgc")
    assert smi.values("clocks.sm", "-i", "0") == [["345"]]
    smi.ok("-lmc", "1593", "-i", "0")
    assert smi.values("clocks.mem", "-i", "0") == [["1593"]]
    smi.ok("-rmc")
    assert smi.values("clocks.mem", "-i", "0") == [["2619"]]


def test_compute_mode(smi: Smi) -> None:
    assert "Set compute mode to EXCLUSIVE_PROCESS" in smi.ok("-c", "3", "-i", "0")
    assert "already set to EXCLUSIVE_PROCESS" in smi.ok("-c", "EXCLUSIVE_PROCESS", "-i", "0")
    assert smi.values("compute_mode", "-i", "0") == [["Exclusive_Process"]]
    assert "E. Process |" in smi.ok()
    assert smi("-c", "9")[0] == 2


def test_ecc_changes_with_a_reset_and_is_kept(smi: Smi) -> None:
    said = smi.ok("-e", "0", "-i", "0")
    assert said.splitlines()[-2:] == ["All done.", "Reboot required."]
    fields = "ecc.mode.current,ecc.mode.pending,ecc.errors.uncorrected.volatile.total"
    assert smi.values(fields, "-i", "0") == [["Enabled", "Disabled", "0"]]
    assert "already Disabled" in smi.ok("-e", "0", "-i", "0")
    smi.ok("-r", "-i", "0")
    assert smi.values(fields, "-i", "0") == [["Disabled", "Disabled", "[N/A]"]]
    assert "|                  Off |" in smi.ok().splitlines()[8]
    smi.node.settings({})  # a boot
    assert smi.values(fields, "-i", "0")[0][0] == "Disabled"


def test_mig_mode_of_a_hopper_ends_with_the_boot(smi: Smi) -> None:
    assert f"Enabled MIG Mode for GPU {smi.buses[0]}\n" in smi.ok("-mig", "1", "-i", "0")
    assert smi.values("mig.mode.current,mig.mode.pending", "-i", "0") == [["Enabled", "Enabled"]]
    assert "No MIG devices found" in smi.ok()
    assert "not supported for Devices in MIG mode" in smi.ok("nvlink", "-s", "-i", "0")
    smi.node.settings({})
    assert smi.values("mig.mode.current", "-i", "0") == [["Disabled"]]


def test_mig_mode_of_an_ampere_waits_for_its_users_and_is_kept(smi: Smi) -> None:
    smi.node.state(NodeState("gpu-001", "a100-sxm"))
    smi.ok("-pm", "1", "-i", "0")
    said = smi.ok("-mig", "1", "-i", "0")
    assert "Warning: MIG mode is in pending enable state" in said
    fields = "mig.mode.current,mig.mode.pending"
    assert smi.values(fields, "-i", "0") == [["Disabled", "Enabled"]]
    smi.node.settings({})
    assert smi.values(fields, "-i", "0") == [["Enabled", "Enabled"]]
    assert "Disabled MIG Mode" in smi.ok("-mig", "0", "-i", "0")
    assert smi.values(fields, "-i", "0") == [["Disabled", "Disabled"]]


def test_mig_devices_are_listed(smi: Smi) -> None:
    one = {
        "index": 0, "gpu_instance": 9, "compute_instance": 0, "profile": "1g.10gb",
        "uuid": "MIG-1", "used_mib": 12, "total_mib": 9856, "bar1_used_mib": 0,
        "bar1_total_mib": 16384, "sram_uncorrectable": 0,
        "shared": {"sm": 16, "copy": 1, "encoder": 0, "decoder": 1, "ofa": 0, "jpeg": 1},
    }  # fmt: skip
    smi.document["gpus"][0]["mig"]["devices"] = [one]
    smi.node.machine(smi.document)
    assert "MIG" not in smi.ok("-L", "-i", "0")
    smi.ok("-mig", "1", "-i", "0")
    assert "  MIG 1g.10gb     Device  0: (UUID: MIG-1)" in smi.ok("-L", "-i", "0")
    device = ET.fromstring(smi.ok("-q", "-x", "-i", "0")).find("gpu/mig_devices/mig_device")
    assert device is not None
    assert device.findtext("gpu_instance_id") == "9"
    assert device.findtext("fb_memory_usage/free") == "9844 MiB"
    assert device.findtext("device_attributes/shared/multiprocessor_count") == "16"
    assert smi.values("utilization.gpu", "-i", "0") == [["[N/A]"]]


def test_a_setting_that_the_machine_forces_stays(smi: Smi) -> None:
    smi.document["gpus"][0]["forced"].update(persistence=False, mig=True)
    smi.node.machine(smi.document)
    smi.ok("-pm", "1", "-i", "0")
    assert smi.values("persistence_mode,mig.mode.current", "-i", "0") == [["Disabled", "Enabled"]]


def test_a_reset_needs_a_gpu_that_nobody_uses(smi: Smi) -> None:
    smi.ok("-pl", "450", "-i", "0")
    smi.ok("-pm", "1", "-i", "0")
    code, said = smi("-r", "-i", "0")
    assert code == 255
    assert said.splitlines()[:2] == [
        "The following GPUs could not be reset:",
        f"  GPU {smi.buses[0]}: In use by another client",
    ]
    smi.ok("-pm", "0", "-i", "0")
    assert f"GPU {smi.buses[0]} was successfully reset." in smi.ok("--gpu-reset", "-i", "0")
    assert smi.values("power.limit", "-i", "0") == [["700.00"]]


def test_error_counters_start_again_when_they_are_cleared(smi: Smi) -> None:
    smi.document["gpus"][0]["ecc"]["volatile"]["dram_uncorrectable"] = 5
    smi.node.machine(smi.document)
    field = "ecc.errors.uncorrected.volatile.total"
    assert smi.values(field, "-i", "0") == [["5"]]
    smi.ok("-p", "0", "-i", "0")
    assert smi.values(field, "-i", "0") == [["0"]]
    smi.document["gpus"][0]["ecc"]["volatile"]["dram_uncorrectable"] = 6
    smi.node.machine(smi.document)
    assert smi.values(field, "-i", "0") == [["1"]]
    assert smi("-p", "9")[0] == 2


def test_only_root_changes_anything(smi: Smi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for words in (("-pm", "1"), ("-pl", "500"), ("-lgc", "900"), ("-r",)):
        code, said = smi(*words)
        assert code == 4
        assert "Insufficient Permissions" in said
    assert smi.values("persistence_mode", "-i", "0") == [["Disabled"]]


def test_broken_settings_are_as_none(smi: Smi) -> None:
    smi.node.write("lab/run/gpus.json", "{")
    smi.node.write("var/lib/trackbed-lab/inforom.json", json.dumps([1]))
    assert smi.values("persistence_mode,ecc.mode.current", "-i", "0") == [["Disabled", "Enabled"]]


def test_a_gpu_without_mig_has_no_such_mode(smi: Smi) -> None:
    for gpu in smi.document["gpus"]:
        gpu["mig"]["capable"] = False
    smi.node.machine(smi.document)
    code, said = smi("-mig", "1")
    assert code == 3
    assert "Not Supported" in said
    assert smi.values("mig.mode.current", "-i", "0") == [["[N/A]"]]
