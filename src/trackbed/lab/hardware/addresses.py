"""Give every BAR and every bridge window an address, as firmware does. Pure.

Memory below 4 GiB (mem32, mem64) and prefetchable memory above it (mem64_pref) are placed
apart. Bridges forward whole MiB (PCI-to-PCI Bridge Architecture 1.2, §3.2.5.8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trackbed.lab.hardware.model import Bar, Device, Window

_MIB = 1 << 20
# Where each kind of memory begins, and to what each root port's share is rounded up: low memory
# is scarce (the interrupt controllers begin at 0xfec00000), high memory is not.
_LOW_BASE, _LOW_SHARE, _LOW_END = 0x90000000, 16 * _MIB, 0xFEC00000
_HIGH_BASE, _HIGH_SHARE = 0x210000000000, 1 << 40


@dataclass
class _Box:
    """Something to be placed: a BAR, or a bridge with what is behind it."""

    owner: str
    bar: int | None
    size: int
    align: int
    inside: list[_Box] = field(default_factory=list)


def _is_high(bar: Bar) -> bool:
    return bar.kind == "mem64_pref"


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align


def _box(device: Device, below: Mapping[str, list[Device]], high: bool) -> list[_Box]:
    """Return the boxes of a device and of what is behind it: largest alignment first."""
    boxes = [
        _Box(device.address, bar.index, bar.size, bar.size)
        for bar in device.part.bars
        if _is_high(bar) == high
    ]
    inside = [b for child in below.get(device.address, []) for b in _box(child, below, high)]
    if inside:
        inside.sort(key=lambda box: -box.align)
        align = max(_MIB, inside[0].align)
        end = 0
        for box in inside:
            end = _up(end, box.align) + box.size
        boxes.append(_Box(device.address, None, _up(end, _MIB), align, inside))
    return boxes


def _settle(boxes: Sequence[_Box], base: int, found: dict[tuple[str, int | None], int]) -> int:
    """Give each box an address, from `base` on; return where the last one ends."""
    cursor = base
    for box in sorted(boxes, key=lambda box: -box.align):
        cursor = _up(cursor, box.align)
        found[(box.owner, box.bar)] = cursor
        _settle(box.inside, cursor, found)
        cursor += box.size
    return cursor


def _sizes(boxes: Sequence[_Box], found: dict[str, int]) -> None:
    for box in boxes:
        if box.bar is None:
            found[box.owner] = box.size
        _sizes(box.inside, found)


def _window(address: int | None, size: int | None) -> Window | None:
    if address is None or size is None:
        return None
    return Window(address, address + size - 1)


def place(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Return the devices with the addresses of their BARs and windows."""
    below: dict[str, list[Device]] = {}
    for device in devices:
        if device.parent:
            below.setdefault(device.parent, []).append(device)
    at: dict[bool, dict[tuple[str, int | None], int]] = {False: {}, True: {}}
    sizes: dict[bool, dict[str, int]] = {False: {}, True: {}}
    cursor = {False: _LOW_BASE, True: _HIGH_BASE}
    for root in (device for device in devices if device.parent is None):
        for high, share in ((False, _LOW_SHARE), (True, _HIGH_SHARE)):
            boxes = _box(root, below, high)
            if not boxes:
                continue
            end = _settle(boxes, cursor[high], at[high])
            _sizes(boxes, sizes[high])
            cursor[high] = _up(end, share)
    if cursor[False] > _LOW_END:
        raise ValueError(f"memory below 4 GiB ends at {cursor[False]:#x}: too many BARs there")
    return tuple(_placed(device, at, sizes) for device in devices)


def _placed(
    device: Device,
    at: Mapping[bool, Mapping[tuple[str, int | None], int]],
    sizes: Mapping[bool, Mapping[str, int]],
) -> Device:
    name = device.address
    bars = tuple(
        replace(bar, address=at[_is_high(bar)][(name, bar.index)]) for bar in device.part.bars
    )
    return replace(
        device,
        bars=bars,
        memory=_window(at[False].get((name, None)), sizes[False].get(name)),
        prefetchable=_window(at[True].get((name, None)), sizes[True].get(name)),
    )
