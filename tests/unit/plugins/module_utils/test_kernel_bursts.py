"""Bursts of the kernel log: how lines are taken together, and that all of it is bounded."""

from __future__ import annotations

import tracemalloc

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _kernel_events,
    _kernel_lines,
    _kernel_time,
    dmesg,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import PARTIAL

XID = "NVRM: Xid (PCI:0000:{bus:02x}:00): {number}, pid={pid}, name=p, text\n"


def _line(at: float, bus: int = 1, number: int = 31, pid: int = 7) -> str:
    return f"[{at:12.6f}] " + XID.format(bus=bus, number=number, pid=pid)


def _counts(log: str) -> list[object]:
    return [one.values["count"] for one in dmesg.read(log).entities if one.path[:6] == "event:"]


def test_a_burst_lasts_until_three_minutes_of_silence() -> None:
    assert _counts(_line(10) + _line(189) + _line(368)) == [3]
    assert _counts(_line(10) + _line(191)) == [1, 1]


def test_a_clock_that_goes_back_is_another_boot() -> None:
    assert _counts(_line(9000) + _line(10)) == [1, 1]


def test_device_and_number_tell_events_apart() -> None:
    assert _counts(_line(1, bus=1) + _line(2, bus=2) + _line(3, bus=1, number=48)) == [1, 1, 1]


def test_lines_without_a_time_are_one_burst() -> None:
    assert _counts(XID.format(bus=1, number=31, pid=7) * 3) == [3]


def test_hosts_are_not_mixed() -> None:
    one = "Nov 30 10:00:00 {} kernel: " + XID.format(bus=1, number=31, pid=7)
    assert _counts(one.format("n1") + one.format("n2")) == [1, 1]


def test_processes_are_gathered_up_to_a_limit() -> None:
    reading = dmesg.read("".join(_line(1 + pid / 10, pid=pid) for pid in range(100)))
    event = reading.entity("event:0")
    assert event is not None
    assert event.values["count"] == 100
    assert event.values["pids"] == list(range(32))


def test_a_storm_is_counted_and_says_that_it_is_limited() -> None:
    storm = "".join(_line(at * 1000, pid=at) for at in range(_kernel_events.MOST_PER_KIND + 50))
    reading = dmesg.read(storm + "[999999.000001] Kernel panic - not syncing: end\n")
    kinds = [one.values["kind"] for one in reading.entities if one.path[:6] == "event:"]
    assert kinds.count("xid") == _kernel_events.MOST_PER_KIND
    assert kinds.count("panic") == 1, "a storm of one kind pushed out another"
    counts = reading.entities[0].values["counts"]
    assert counts == {"panic": 1, "xid": _kernel_events.MOST_PER_KIND + 50}
    assert reading.quality == PARTIAL
    assert [one.code for one in reading.problems] == ["limited"]


def test_memory_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernel_lines, "PIECE", 1 << 14)
    data = (_line(1) + "[    2.000001] docker0: port 1 entered disabled state\n").encode() * 8000
    tracemalloc.start()
    try:
        reading = dmesg.read(data)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reading.entities[0].values["line_count"] == 16_000
    assert peak < len(data) // 3


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_pieces_keep_line_numbers(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(_kernel_lines, "PIECE", 5)
    text = end.join(["ab", "", "cdefgh", "i", "jklmnopq"]) + end
    found = list(_kernel_lines.raw_lines(text.encode()))
    assert found == [(1, "ab"), (2, ""), (3, "cdefgh"), (4, "i"), (5, "jklmnopq")]


@pytest.mark.parametrize(
    ("stamp", "wanted"),
    [
        ("12.5", (12.5, False)),
        ("2026-11-30T10:00:00,500000+00:00", (1796032800.5, True)),
        ("2026-11-30 10:00:00", (1796032800.0, True)),
        ("Mon Nov 30 10:00:00 2026", (1796032800.0, True)),
        ("lun. 30 nov. 2026 10:00:00", (1796032800.0, True)),
        ("Mo, 30. Nov 2026, 10:00:00", (1796032800.0, True)),
        ("一 11月 30 10:00:00 2026", (1796032800.0, True)),
        ("99月 30 10:00:00 2026", (None, False)),
        ("Mon Nov 31 25:00:00 2026", (None, False)),
        ("2026-13-30T10:00:00Z", (None, False)),
        ("no time", (None, False)),
        ("10:00:00", (None, False)),
    ],
)
def test_times(stamp: str, wanted: tuple[float | None, bool]) -> None:
    assert _kernel_time.seconds(stamp) == wanted
