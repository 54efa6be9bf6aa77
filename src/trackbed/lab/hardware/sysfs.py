"""The files that stand for a plan: what the kernel would show of such hardware. Pure.

Formats are those of Linux 6.1: drivers/pci/pci-sysfs.c and drivers/pci/slot.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from trackbed.lab.hardware import infiniband, smbios
from trackbed.lab.hardware.capabilities import trained
from trackbed.lab.hardware.config import config_space
from trackbed.lab.hardware.model import Bar, Device, Plan, Window
from trackbed.lab.hardware.vpd import vpd

# include/linux/ioport.h: the flags which the kernel shows for each kind of resource.
_BAR_FLAGS = {"mem32": 0x40200, "mem64": 0x140204, "mem64_pref": 0x14220C}
_MEMORY_WINDOW, _PREFETCHABLE_WINDOW = 0x200, 0x102201
# include/linux/pci.h with CONFIG_PCI_IOV: six BARs, a ROM, six virtual BARs, four windows.
_BEFORE_WINDOWS, _ALL = 13, 17
_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_ALL_ONES_WIDTH = 63  # the width field of a register that reads all ones

Tree = Mapping[PurePosixPath, "bytes | PurePosixPath | None"]


def tree_of(plan: Plan) -> Tree:
    """Return every path below the destination: bytes, a link's target, or None for a directory."""
    return dict(_entries(plan))


def _entries(plan: Plan) -> Iterator[tuple[PurePosixPath, bytes | PurePosixPath | None]]:
    pci = PurePosixPath("pci")
    yield PurePosixPath("osrelease"), f"{plan.kernel_release}\n".encode()
    yield PurePosixPath("modules.available"), "".join(f"{m}\n" for m in plan.modules).encode()
    for name in ("devices", "slots", "drivers"):
        yield pci / name, None
    yield from infiniband.entries(plan)
    for name, data in smbios.tables(plan).items():
        yield PurePosixPath("firmware/dmi/tables") / name, data
    for name, text in smbios.identity(plan).items():
        yield PurePosixPath("class/dmi/id") / name, f"{text}\n".encode()
    for device in plan.devices:
        here = pci / "devices" / device.address
        yield here, None
        for name, data in _attributes(device, plan).items():
            yield here / name, data
        driver = device.part.driver
        if driver:
            yield pci / "drivers" / driver, None
            yield here / "driver", PurePosixPath("../../drivers") / driver
        if device.adapter is not None:
            yield from infiniband.links(plan, device, here)
        if device.slot is not None:
            bus = f"0000:{device.secondary:02x}:00"
            yield pci / "slots" / str(device.slot), None
            yield pci / "slots" / str(device.slot) / "address", f"{bus}\n".encode()


def _attributes(device: Device, plan: Plan) -> Mapping[str, bytes]:
    part = device.part
    subsystem = part.subsystem if part.subsystem and not part.is_bridge else (0, 0)
    texts = {
        "vendor": f"{part.vendor:#06x}",
        "device": f"{part.device:#06x}",
        "class": f"{part.device_class:#08x}",
        "revision": f"{part.revision:#04x}",
        "subsystem_vendor": f"{subsystem[0]:#06x}",
        "subsystem_device": f"{subsystem[1]:#06x}",
        "irq": str(device.irq),
        "enable": "1" if part.driver else "0",
        "numa_node": str(device.numa_node),
        "local_cpulist": plan.numa_cpus[device.numa_node],
        "resource": "\n".join(_resource(device)),
        **_link(device),
    }
    data = {name: f"{text}\n".encode() for name, text in texts.items()}
    data["config"] = config_space(device)
    if product_data := vpd(device, plan.node):
        data["vpd"] = product_data
    return data


def _link(device: Device) -> Mapping[str, str]:
    part = device.part
    if part.max_gen is None:
        return {}
    gen, width = trained(device)
    speed = f"{_SPEEDS[gen]} GT/s PCIe" if gen in _SPEEDS else "Unknown"
    if not device.responds:  # the kernel reads the register anew and gets ffff
        speed, width = "Unknown", _ALL_ONES_WIDTH
    return {
        "current_link_speed": speed,
        "current_link_width": str(width),
        "max_link_speed": f"{_SPEEDS[part.max_gen]} GT/s PCIe",
        "max_link_width": str(part.max_width),
    }


def _line(start: int, end: int, flags: int) -> str:
    return f"0x{start:016x} 0x{end:016x} 0x{flags:016x}"


def _resource(device: Device) -> list[str]:
    lines = [_line(0, 0, 0)] * (_ALL if device.part.is_bridge else _BEFORE_WINDOWS)
    for bar in device.bars:
        lines[bar.index] = _bar_line(bar)
    if device.part.is_bridge:
        # Window order: I/O, memory, prefetchable, CardBus.
        lines[_BEFORE_WINDOWS + 1] = _window_line(device.memory, _MEMORY_WINDOW)
        lines[_BEFORE_WINDOWS + 2] = _window_line(device.prefetchable, _PREFETCHABLE_WINDOW)
    return lines


def _bar_line(bar: Bar) -> str:
    return _line(bar.address, bar.address + bar.size - 1, _BAR_FLAGS[bar.kind])


def _window_line(window: Window | None, flags: int) -> str:
    return _line(window.start, window.end, flags) if window else _line(0, 0, 0)
