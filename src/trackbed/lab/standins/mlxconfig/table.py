"""How a device and its settings are printed: the table, and JSON.

Columns as in mstflint 4.22 to 4.30 and the MFT of those years (mlxconfig/mlxcfg_ui.cpp of
https://github.com/Mellanox/mstflint): names are 44 wide behind the marks, values 20.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..common.adapters import Nic

_TITLES = {"default": "Default", "current": "Current", "next": "Next Boot", "new": "New"}
_VALUE = 20
DIFFERS = "The '*' shows parameters with next value different from default/current value."


@dataclass
class Row:
    """One setting: its values by column, as they are printed."""

    name: str
    values: dict[str, str] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Say whether what comes next is not the factory's or not what runs."""
        seen = (self.values.get("default"), self.values.get("current"))
        return any(value is not None and value != self.values["next"] for value in seen)


def opening(number: int, nic: Nic, device: str) -> Iterator[str]:
    """Yield the lines about the device."""
    image = nic["image"]
    yield from ("", f"Device #{number}:", "-" * 10, "")
    for label, value in (
        ("Device type:", image["device_type"]),
        ("Name:", image["part_number"]),
        ("Description:", image["description"]),
        ("Device:", device),
    ):
        yield f"{label:<20}{value:<20}"
    yield ""


def header(columns: list[str]) -> str:
    """Return the line with the names of the columns; they are set to the right of each."""
    *older, last = [name for name in columns if name != "new"]
    line = f"{'Configurations:':<20}"
    for at, name in enumerate(older):
        line += f"{_TITLES[name]:>{44 if at == 0 and 'default' in older else 20}}"
    line += f"{_TITLES[last]:>{18 if older else 46}}"
    return line + ("       New" if "new" in columns else "")


def line(row: Row, columns: list[str]) -> str:
    """Return the line of a setting."""
    text = f"{'*' if row.differs else ' '}  {'':5}{row.name:<44}"
    for at, name in enumerate(columns):
        # A value that fills its column is kept apart from the next one.
        text += " " if at else ""
        text += f"{row.values[name]:<{_VALUE}}"
    return text


def document(number: int, nic: Nic, device: str, rows: list[Row]) -> dict[str, Any]:
    """Return what -j writes of a device."""
    image = nic["image"]
    return {
        f"Device #{number}": {
            "description": image["description"],
            "device": device,
            "device_type": image["device_type"],
            "name": image["part_number"],
            "tlv_configuration": {row.name: _entry(row) for row in rows},
        }
    }


def _entry(row: Row) -> dict[str, Any]:
    def value(text: str) -> Any:
        return int(text) if text.isdigit() else text

    found = {f"{name}_value": value(text) for name, text in row.values.items()}
    if len(row.values) > 1:
        found["modified"] = row.differs
    return {**found, "read_only": False}
