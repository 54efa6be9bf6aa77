"""What mlxlink tells of a port, section by section: labels and values.

Labels and order: mlxlink/modules of https://github.com/Mellanox/mstflint (mlxlink_commander.cpp,
mlxlink_enums.h, mlxlink_cables_commander.cpp), and outputs of MFT 4.24 and 4.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.adapters import Nic
from ..common.firmware_tools import installed, release

NONE = "N/A"
_GRADE = 6  # columns of a lane's value
_FIGURES = (("Initial FOM", "initial"), ("Last FOM", "last"))
_EYES = (("Upper Grades", "upper"), ("Mid Grades", "mid"), ("Lower Grades", "lower"))
_HEIGHTS = (
    ("Physical Grade", "grade"),
    ("Height Eye Opening [mV]", "height_mv"),
    ("Phase  Eye Opening [psec]", "phase_psec"),
)
# The first release whose outputs were seen with a section about the tool; MFT 4.15's had none.
_TOOL_SECTION = (4, 24)
# Version of the amBER document that a release follows: outputs of MFT 4.24, 4.30 and 4.32.
_AMBER = (((4, 32), "4.8"), ((4, 30), "3.6"), ((4, 24), "2.13"))
_MODULE_FIRST = (
    "Temperature [C]", "Voltage [mV]", "Bias Current [mA]", "Rx Power Current [dBm]",
    "Tx Power Current [dBm]",
)  # fmt: skip
_MODULE_LAST = (
    "Power Class", "CDR RX", "CDR TX", "LOS Alarm", "SNR Media Lanes [dB]", "SNR Host Lanes [dB]",
)  # fmt: skip
_MODULE_STATE = (
    "SMF Length", "Module State", "DataPath state [per lane]", "Rx Output Valid [per lane]",
    "Module FW Fault", "DataPath FW Fault", "Tx Fault [per lane]", "Tx LOS [per lane]",
    "Tx CDR LOL [per lane]", "Rx LOS [per lane]", "Rx CDR LOL [per lane]",
    "Tx Adaptive EQ Fault [per lane]",
)  # fmt: skip


@dataclass
class Value:
    """A value: a text; or several, with the mask that stands for them, or in columns."""

    text: str = ""
    several: list[str] | None = None
    mask: str | None = None
    width: int = 0


@dataclass
class Section:
    """One section; labels in the order in which they are printed."""

    title: str
    values: dict[str, Value] = field(default_factory=dict)

    def put(self, label: str, value: Any) -> None:
        """Add a value; None is N/A."""
        self.values[label] = Value(NONE if value is None else str(value))


def sections(nic: Nic, program: str, asked: set[str]) -> Iterator[Section]:
    """Yield what is told: always of the port, and what was asked for."""
    yield _operational(nic)
    yield _supported(nic)
    yield _troubleshooting(nic["link"])
    version = installed(program)
    if version is None or release(version) >= _TOOL_SECTION:
        yield _tool(nic, program, version)
    if "module" in asked:
        yield _module(nic["module"] or {})
    if "counters" in asked:
        yield _counters(nic)
    if "eye" in asked:
        yield _eye(nic["eye"])


def _operational(nic: Nic) -> Section:
    found = Section("Operational Info")
    for label, key in (
        ("State", "state"),
        ("Physical state", "physical"),
        ("Speed", "speed"),
        ("Width", "width"),
        ("FEC", "fec"),
        ("Loopback Mode", "loopback"),
        ("Auto Negotiation", "negotiation"),
    ):
        found.put(label, nic["link"][key])
    return found


def _supported(nic: Nic) -> Section:
    found = Section("Supported Info")
    extended = " (Ext.)" if nic["link_layer"] == "Ethernet" else ""
    for label, key in (("Enabled Link Speed", "enabled"), ("Supported Cable Speed", "cable")):
        speeds = nic["link"][key]
        found.values[label + extended] = Value(several=speeds["names"], mask=speeds["mask"])
    return found


def _troubleshooting(link: Mapping[str, Any]) -> Section:
    found = Section("Troubleshooting Info")
    found.put("Status Opcode", link["opcode"])
    found.put("Group Opcode", link["group"])
    found.put("Recommendation", link["recommendation"])
    return found


def _tool(nic: Nic, program: str, version: str | None) -> Section:
    found = Section("Tool Information")
    found.put("Firmware Version", nic["image"]["running"])
    known = release(version)
    found.put("amBER Version", next((word for since, word in _AMBER if known >= since), None))
    name = "mstflint" if program.startswith("mst") else "mft"
    found.put(f"{name.upper()} Version", f"{name} {version}" if version else None)
    return found


def _module(module: Mapping[str, Any]) -> Section:
    found = Section("Module Info")
    for label in _MODULE_FIRST:
        found.put(label, None)
    for label, key in (
        ("Identifier", "identifier"),
        ("Compliance", "compliance"),
        ("Cable Technology", "technology"),
        ("Cable Type", "cable_type"),
        ("OUI", None),
        ("Vendor Name", "vendor"),
        ("Vendor Part Number", "part_number"),
        ("Vendor Serial Number", "serial"),
        ("Rev", "revision"),
        ("Wavelength [nm]", None),
        ("Transfer Distance [m]", "length_m"),
        ("FW Version", None),
    ):
        found.put(label, module.get(key) if key else None)
    found.put("Digital Diagnostic Monitoring", "No" if module else None)
    for label in _MODULE_LAST:
        found.put(label, None)
    found.put("IB Cable Width", module.get("width"))
    for label in _MODULE_STATE:
        found.put(label, None)
    return found


def _counters(nic: Nic) -> Section:
    counters = nic["counters"]
    found = Section("Physical Counters and BER Info")
    found.put("Time Since Last Clear [Min]", counters["minutes"])
    if nic["link_layer"] == "InfiniBand":
        found.put("Symbol Errors", counters["symbol_errors"])
        found.put("Symbol BER", counters["symbol_ber"])
    found.put("Effective Physical Errors", counters["effective_errors"])
    found.put("Effective Physical BER", counters["effective_ber"])
    errors = counters["raw_errors"]
    lanes = [NONE] if errors is None else [str(number) for number in errors]
    found.values["Raw Physical Errors Per Lane"] = Value(several=lanes)
    found.put("Link Down Counter", counters["downed"])
    found.put("Link Error Recovery Counter", counters["recoveries"])
    found.put("Raw Physical BER", counters["raw_ber"])
    return found


def _eye(eye: Mapping[str, Any] | None) -> Section:
    """Return the signal of each lane: figures of merit of 7 nm chips, heights of older ones."""
    found = Section("EYE Opening Info")
    if eye is not None and "grade" in eye:
        for label, key in _HEIGHTS:
            found.values[label] = _lanes(eye[key])
        return found
    figures = eye or {}
    lanes = range(len(figures.get("initial", [])))
    found.values["FOM Mode"] = Value(several=[figures.get("mode", NONE)])
    found.values["Lane"] = _lanes(list(lanes))
    for label, key in (*_FIGURES, *_EYES):
        if key in figures or not figures:
            found.values[label] = _lanes(figures.get(key, []))
    return found


def _lanes(values: list[int]) -> Value:
    if not values:
        return Value(several=[NONE])
    return Value(several=[str(value) for value in values], width=_GRADE)
