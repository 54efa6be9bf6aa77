"""What nvidia-smi -q must not take for something else, whatever was lost on its way."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import nvidia_smi_q

HEAD = """==============NVSMI LOG==============
Driver Version                        : 580.95.05
Attached GPUs                         : 1
GPU 00000000:86:00.0
"""


def _gpu(text: str) -> dict[str, object]:
    entity = nvidia_smi_q.read(text).entity("gpu:0")
    assert entity is not None
    return dict(entity.values)


def test_the_memory_of_a_vgpu_is_not_that_of_its_gpu() -> None:
    lines = HEAD + (
        "    vGPU ID                           : 3251630001\n"
        "        FB Memory Usage\n"
        "            Total                     : 8192 MiB\n"
    )
    assert "memory_total_mib" not in _gpu(lines)
    assert "memory_total_mib" not in _gpu("\n".join(one.strip() for one in lines.split("\n")))


def test_power_of_the_module_is_not_that_of_the_gpu() -> None:
    values = _gpu(
        HEAD + "    Module Power Readings\n        Power Draw : 1400.00 W\n"
        "    GPU Memory Power Readings \n        Power Draw : 80.00 W\n"
    )
    assert values["module_power_draw_w"] == 1400.0
    assert values["memory_power_draw_w"] == 80.0
    assert "power_draw_w" not in values


def test_a_last_value_without_its_end_is_not_kept_where_the_text_is_cut() -> None:
    whole = HEAD + "    Product Name : NVIDIA H200\n    FB Memory Usage\n        Total : 143771 MiB"
    cut = whole[:-7]
    assert cut.endswith(": 143")
    reading = nvidia_smi_q.read(cut)
    assert "memory_total_mib" not in _gpu(cut)
    assert "truncated" in {one.code for one in reading.problems}


def test_a_lost_line_of_a_gpu_does_not_mix_two_gpus() -> None:
    part = (
        "    Product Name : NVIDIA H200\n    PCI\n        Bus Id : 00000000:{0}:00.0\n"
        "    Fan Speed : N/A\n    Performance State : P0\n    Compute Mode : Default\n"
        "    Persistence Mode : Enabled\n    Serial Number : 16500990000{0}\n"
        "    Minor Number : 0\n    VBIOS Version : 96.00.99.00.01\n"
        "    GPU Recovery Action : {1}\n    Processes : None\n"
    )
    text = HEAD.replace(": 1\n", ": 2\n") + part.format("86", "None") + part.format("87", "Reset")
    reading = nvidia_smi_q.read(text)
    first, second = reading.entity("gpu:0"), reading.entity("gpu:1")
    assert first is not None
    assert second is not None
    assert (first.ids["pci"], first.values["recovery_action"]) == ("0000:86:00.0", "none")
    assert (second.ids["pci"], second.values["recovery_action"]) == ("0000:87:00.0", "reset")
    assert "missing_value" in {one.code for one in reading.problems}


def test_the_same_address_on_another_machine_is_not_merged() -> None:
    one = HEAD + "    GPU UUID : GPU-{0}\n    GPU Recovery Action : {1}\n"
    reading = nvidia_smi_q.read(one.format("a", "None") + "\n" + one.format("b", "Reset"))
    gpu = reading.entity("gpu:0")
    assert gpu is not None
    assert gpu.values["recovery_action"] == "none"
    assert {one.code for one in reading.problems} == {"inconsistent"}


def test_a_selected_gpu_is_no_cut() -> None:
    text = "root@gpu-1:~# nvidia-smi -q -i 0 -d TEMPERATURE\n" + HEAD.replace(": 1\n", ": 8\n")
    reading = nvidia_smi_q.read(text + "    Temperature\n        GPU Current Temp : 31 C\n")
    assert reading.quality == "ok"


def test_bounds() -> None:
    many = HEAD + "    Processes\n" + "        Process ID : 7\n            Type : C\n" * 6000
    reading = nvidia_smi_q.read(many)
    assert "limited" in {one.code for one in reading.problems}
    assert len(reading.entities) < 5000
    deep = HEAD + "".join(" " * depth + "Remapped Rows\n" for depth in range(4, 400))
    assert nvidia_smi_q.read(deep).quality == "partial"
