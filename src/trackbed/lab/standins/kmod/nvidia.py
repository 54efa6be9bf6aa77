"""What loading the vendor's modules does beside being loaded: /proc/driver/nvidia and /dev/nvidia*.

Texts: NVIDIA/open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c and nv.c.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from typing import Any

from ..common import kernel_log, settings
from ..common.places import holders, machine, place
from .files import Module

_PROC = "/proc/driver/nvidia"
# Only open modules drive these (NVIDIA driver installation guide, kernel modules).
_OPEN_ONLY = frozenset({"Blackwell"})
# Dynamic major numbers, as the kernel gives them from above to a server's first drivers.
_MAJOR, _MAJOR_UVM = 237, 511
_COMPILER = "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"


class RefusedError(Exception):
    """The kernel would not insert the module; the text is that of its error number."""


def check(module: Module) -> None:
    """Raise RefusedError where the driver would not come up on this machine."""
    if module.name != "nvidia":
        return
    gpus = _gpus()
    if not gpus:
        log("NVRM: No NVIDIA GPU found.")
        raise RefusedError("No such device")
    if _is_open(module):
        return
    only = [gpu for gpu in gpus if gpu.get("architecture") in _OPEN_ONLY]
    for gpu in only:
        log(
            f"NVRM: The NVIDIA GPU {gpu['pci']} (PCI ID: {gpu.get('pci_id', '10de')}) installed in "
            "this system requires use of the NVIDIA open kernel modules."
        )
    if only:
        raise RefusedError("No such device")


def loaded(module: Module, parameters: Mapping[str, str]) -> None:
    """Make what the kernel makes when the module comes up."""
    if module.name == "nvidia":
        _make_proc(module, parameters)
        for name in ["nvidiactl", *[f"nvidia{gpu['minor']}" for gpu in _gpus()]]:
            _device(name)
        log(f"nvidia-nvlink: Nvlink Core is being initialized, major device number {_MAJOR}", 6)
        log(f"NVRM: loading {_title(module)}  {module.version}")
    elif module.name == "nvidia_uvm":
        log(f"nvidia-uvm: Loaded the UVM driver, major device number {_MAJOR_UVM}.", 6)
        _device("nvidia-uvm")
        _device("nvidia-uvm-tools")
    elif module.name == "nvidia_modeset":
        _device("nvidia-modeset")
        title = f"Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  {module.version}"
        log(f"nvidia-modeset: {title}", 6)


def unloaded(name: str) -> None:
    """Take away what the module had made."""
    patterns = {"nvidia_uvm": "nvidia-uvm*", "nvidia_modeset": "nvidia-modeset"}
    if name == "nvidia":
        shutil.rmtree(place(_PROC), ignore_errors=True)
        for path in place("/dev").glob("nvidia[c0-9]*"):
            path.unlink()
        with settings.changing() as (running, _):
            running.pop("fabric", None)  # GPUs join it anew, once their driver is back
    elif name in patterns:
        for path in place("/dev").glob(patterns[name]):
            path.unlink()


def busy(name: str) -> dict[int, str]:
    """Return the processes that keep a module from being taken out."""
    if name == "nvidia_uvm":
        return holders("/dev/nvidia-uvm")
    if name == "nvidia":
        return {**holders("/dev/nvidiactl"), **holders("/dev/nvidia0")}
    return {}


def log(text: str, level: int = kernel_log.WARNING) -> None:
    """Write a line of the kernel's log."""
    kernel_log.write(level, text)


def _gpus() -> list[dict[str, Any]]:
    found = machine().get("gpus") or []
    return [gpu for gpu in found if not gpu.get("missing")]


def _is_open(module: Module) -> bool:
    return "MIT" in module.license


def _title(module: Module) -> str:
    """Return what the driver calls itself."""
    bits = platform.machine()
    if _is_open(module):
        return f"NVIDIA UNIX Open Kernel Module for {bits}"
    return f"NVIDIA UNIX {bits} Kernel Module"


def _make_proc(module: Module, parameters: Mapping[str, str]) -> None:
    top = place(_PROC)
    top.mkdir(parents=True, exist_ok=True)
    built = "Release Build  (dvs-builder@U22-I3-AE18-23-3)  Tue Dec  2 00:00:00 UTC 2025"
    version = f"NVRM version: {_title(module)}  {module.version}  {built}"
    (top / "version").write_text(f"{version}\nGCC version:  {_COMPILER}\n", encoding="ascii")
    names = {key.replace("NVreg_", ""): value for key, value in parameters.items()}
    shown = {"RmLogonRC": "1", "EnableMSI": "1", "RestrictProfilingToAdminUsers": "1", **names}
    text = "".join(f"{key}: {value}\n" for key, value in shown.items())
    (top / "params").write_text(text, encoding="ascii")
    for gpu in _gpus():
        here = top / "gpus" / gpu["pci"]
        here.mkdir(parents=True, exist_ok=True)
        facts = {
            "Model": f"\t\t {gpu['name']}",
            "IRQ": "  \t\t 16",
            "GPU UUID": f"\t {gpu['uuid']}",
            "Video BIOS": f"\t {gpu['vbios']}",
            "Bus Type": "\t PCIe",
            "DMA Size": "\t 52 bits",
            "DMA Mask": "\t 0xfffffffffffff",
            "Bus Location": f"\t {gpu['pci']}",
            "Device Minor": f"\t {gpu['minor']}",
            "GPU Firmware": f"\t {module.version}",
            "GPU Excluded": "\t No",
        }
        text = "".join(f"{key}:{value}\n" for key, value in facts.items())
        (here / "information").write_text(text, encoding="utf-8")


def _device(name: str) -> None:
    """Make a device file; a plain one, since a lab node may make no others."""
    path = place(f"/dev/{name}")
    path.touch()
    path.chmod(0o666)
