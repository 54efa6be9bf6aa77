"""What one lab node is: the state file from which its hardware and its stand-ins are made.

The file is YAML; every key is written, unknown keys are refused::

    schema: 1                          # this layout
    name: gpu-002                      # host name; serial numbers are derived from it
    sku: h100-sxm                      # a file of trackbed/lab/hardware/skus
    kernel_release: 6.1.0-50-amd64     # what /proc/sys/kernel/osrelease says
    overrides:                         # what differs from the SKU, by device or for the whole node
      gpu:3: {max_read_request: 512}   # keys: see OVERRIDE_KEYS
      node: {acs_control: 0x1d}        # `node` means every device that has such a setting
      gpu:4: {facts: {vbios: 96.00.74.00.0D}} # other values of machine.json, by their paths
    faults:                            # what is broken, in the order in which it broke
      - {kind: pcie_gen4, target: gpu:5, at: 1796140800.0} # `at`: seconds since 1970, if known

A target is `node` or a device: `gpu:5`, `nic:0`, `nvme:2`, `nvswitch:1`, or a PCI address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trackbed.errors import UsageError

SCHEMA = 1
# Debian 12's kernel in the lab's own images, December 2026.
DEFAULT_KERNEL = "6.1.0-50-amd64"
WHOLE_NODE = "node"
OVERRIDE_KEYS = frozenset(
    {
        "acs_control",  # the ACS control register, 16 bits
        "current_gen",  # the generation at which the link trained, 1 to 6
        "current_width",  # the lanes at which the link trained
        "max_payload",  # DevCtl MaxPayload, bytes
        "max_read_request",  # DevCtl MaxReadReq, bytes
    }
)
_KEYS = frozenset({"schema", "name", "sku", "kernel_release", "overrides", "faults"})

FACTS = "facts"  # machine.json's own values: path -> value; of `node`, those outside of devices

Overrides = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, order=True)
class FaultMark:
    """One planted fault: its kind (a key of `trackbed.lab.faults.FAULTS`) and its target."""

    kind: str
    target: str
    at: float | None = field(default=None, compare=False)  # when it broke, seconds since 1970

    def to_dict(self) -> dict[str, Any]:
        """Return the item of the document."""
        found: dict[str, Any] = {"kind": self.kind, "target": self.target}
        return found if self.at is None else {**found, "at": self.at}


@dataclass(frozen=True)
class NodeState:
    """Everything that the lab knows of one node. Equal states make equal bytes."""

    name: str
    sku: str
    kernel_release: str = DEFAULT_KERNEL
    overrides: Overrides = field(default_factory=dict)
    faults: tuple[FaultMark, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `from_dict` reads."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "sku": self.sku,
            "kernel_release": self.kernel_release,
            "overrides": {target: dict(values) for target, values in self.overrides.items()},
            "faults": [mark.to_dict() for mark in self.faults],
        }

    @classmethod
    def from_dict(cls, document: object, where: str = "node state") -> NodeState:
        """Read a document; `where` names it in errors. Raises UsageError for what is not known."""
        doc = _mapping(document, where)
        _refuse_unknown(doc, _KEYS, where)
        if doc.get("schema") != SCHEMA:
            raise UsageError(
                f"{where} has schema {doc.get('schema')!r}",
                wanted=f"schema {SCHEMA}",
                remedy="recreate the lab with this version of trackbed",
            )
        return cls(
            name=_text(doc, "name", where),
            sku=_text(doc, "sku", where),
            kernel_release=_text(doc, "kernel_release", where, DEFAULT_KERNEL),
            overrides=_overrides(doc.get("overrides") or {}, f"{where}: overrides"),
            faults=_faults(doc.get("faults") or [], f"{where}: faults"),
        )

    @classmethod
    def load(cls, path: Path) -> NodeState:
        """Read a state file."""
        try:
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise UsageError(
                f"{path} cannot be read: {error}",
                wanted="the YAML file of one lab node",
                remedy="recreate the lab, or correct the file",
            ) from error
        return cls.from_dict(document, str(path))

    def save(self, path: Path) -> None:
        """Write the state file in place: a running node has this very inode mounted."""
        text = yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None)
        path.write_text(text, encoding="utf-8")


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is {type(value).__name__}", wanted="a mapping")
    return value


def _refuse_unknown(doc: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    unknown = sorted(str(key) for key in doc if key not in known)
    if unknown:
        raise UsageError(
            f"{where} has unknown key{'s' * (len(unknown) > 1)} {', '.join(unknown)}",
            wanted=f"only {', '.join(sorted(known))}",
            remedy="remove or correct the key",
        )


def _text(doc: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = doc.get(key, default)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: {key} is {value!r}", wanted="a text that is not empty")
    return value


def _overrides(value: object, where: str) -> Overrides:
    result: dict[str, dict[str, Any]] = {}
    for target, settings in _mapping(value, where).items():
        here = f"{where}: {target}"
        _refuse_unknown(_mapping(settings, here), OVERRIDE_KEYS | {FACTS}, here)
        for key, number in settings.items():
            if key == FACTS:
                _mapping(number, f"{here}: {FACTS}")
            elif not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise UsageError(f"{here}: {key} is {number!r}", wanted="a number, 0 or more")
        result[str(target)] = dict(settings)
    return result


def _faults(value: object, where: str) -> tuple[FaultMark, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{where} is {type(value).__name__}", wanted="a list of {kind, target}")
    marks = []
    for index, item in enumerate(value):
        here = f"{where}[{index}]"
        _refuse_unknown(_mapping(item, here), frozenset({"kind", "target", "at"}), here)
        at = item.get("at")
        if at is not None and (isinstance(at, bool) or not isinstance(at, (int, float))):
            raise UsageError(f"{here}: at is {at!r}", wanted="seconds since 1970")
        kind, target = _text(item, "kind", here), _text(item, "target", here, WHOLE_NODE)
        marks.append(FaultMark(kind, target, at))
    return tuple(marks)
