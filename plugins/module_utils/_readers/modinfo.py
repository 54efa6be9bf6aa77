# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `modinfo`: what a kernel module says of itself.

Format: `label:   value` lines, some labels several times; a module begins with `filename:`.
Before kmod 21 there is no `name:`; it is then the file's. A signature goes on in lines of
hexadecimal digits. Versions: kmod 9 to 34. Source: modinfo(8), kmod's tools/modinfo.c.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "modinfo"
TITLE = "Kernel modules by modinfo"
VERSIONS = "kmod 9 to 34"
SOURCES = (
    "https://github.com/aikitoria/open-gpu-kernel-modules/issues/15",
    "https://github.com/NVIDIA/gdrcopy/issues/82",
    "https://github.com/NVIDIA/gdrcopy/issues/205",
    "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/311",
    "https://github.com/Shatur/optimus-manager-qt/issues/27",
)
PROVEN = True
_TEXTS = {
    "version": ("version", "version of the module; many have none"),
    "license": ("license", "licence; NVIDIA's open module says Dual MIT/GPL"),
    "description": ("description", "description"),
    "srcversion": ("source_checksum", "checksum of the sources"),
    "vermagic": ("vermagic", "kernel and options that it was built for"),
    "signer": ("signer", "who signed it"),
    "sig_id": ("signature_type", "PKCS#7 ..."),
    "sig_key": ("signature_key", "serial number of the key, hexadecimal"),
    "sig_hashalgo": ("signature_hash", "hash that was signed"),
    "supported": ("supported", "external ..., as printed"),
    "author": ("author", "first author"),
}
_LISTS = {
    "firmware": ("firmware", "firmware files that it may ask for"),
    "softdep": ("soft_depends", "modules that should be loaded before or after, as printed"),
    "import_ns": ("namespaces", "symbol namespaces that it uses"),
}
FIELDS = {
    "node": {
        "module_count": Field(int, "modules told of"),
        "missing_modules": Field(list, "asked for and not there"),
    },
    "module": {
        "filename": Field(str, "file; null where it is built into the kernel"),
        "built_in": Field(bool, "part of the kernel's image"),
        "kernel_release": Field(str, "kernel that it was built for (start of vermagic)"),
        "depends": Field(list, "modules that it needs"),
        "signed": Field(bool, "it carries a signature"),
        "in_tree": Field(bool, "comes with the kernel's sources"),
        "retpoline": Field(bool, "built with retpolines"),
        "alias_count": Field(int, "device aliases"),
        "parameters": Field(list, "names of its parameters"),
        **{name: Field(str, says) for name, says in _TEXTS.values()},
        **{name: Field(list, says) for name, says in _LISTS.values()},
    },
}
_LINE = re.compile(r"^([a-z][a-z_]{1,20}):(?:\s+(.*))?$")
_MISSING = re.compile(r"^(?:modinfo: )?(?:ERROR|ERR)?:? ?Module (\S{1,200}) not found\.?$")
_MISSING_OLD = re.compile(r"^modinfo: could not find module (\S{1,200})$")
_ERROR = re.compile(r"^(?:modinfo|libkmod): ")
_HEX = re.compile(r"^(?:[0-9A-Fa-f]{2}:){1,40}(?:[0-9A-Fa-f]{2})?$")
_FILE = re.compile(r"([^/]{1,200}?)\.ko(?:\.(?:gz|xz|zst))?$")
_MOST_LISTED = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    joined = _pasted.text_of(text[:60000])
    name = re.search(r"(?m)^\s*filename:\s+(?:/\S+\.ko|\(builtin\))", joined)
    other = re.search(r"(?m)^\s*(?:license|vermagic|srcversion|depends|description):\s", joined)
    if name and other:
        return 97
    if re.search(r"(?m)^modinfo: (?:ERROR|could not)", joined):
        return 92
    built = re.search(r"(?m)^\s*vermagic:\s+[0-9]", joined) and other
    return 90 if built else 75 if name else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `module:<name>`."""
    reading = Reading(KIND, tool_name="modinfo")
    modules: list[Entity] = []
    missing: list[str] = []
    for number, line in _pasted.lines(data):
        word = line.strip()
        found = _LINE.match(word)
        gone = _MISSING.match(word) or _MISSING_OLD.match(word)
        if gone:
            missing.append(gone.group(1))
        elif found and (modules or found.group(1) in ("filename", *_TEXTS, "name")):
            label, value = found.group(1), (found.group(2) or "").strip()
            if not modules or _begins(modules[-1], label):
                modules.append(Entity("module:"))
            _label(modules[-1], label, value)
        elif _ERROR.match(word):
            says = "modinfo reported an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=word)
        elif not _HEX.match(word) and not _pasted.is_noise(line):
            _plain.malformed(reading, number, line, "a label of modinfo")
    return _finish(reading, modules, missing)


def _begins(module: Entity, label: str) -> bool:
    """Return whether the label starts another module: a built-in one tells its name first."""
    if label == "name":
        return module.path != "module:"
    return label == "filename" and "built_in" in module.values


def _label(module: Entity, label: str, value: str) -> None:
    values = module.values
    if label == "filename":
        values["built_in"] = value == "(builtin)"
        values["filename"] = None if values["built_in"] else value or None
    elif label == "name":
        module.path = f"module:{value}"
    elif label in _TEXTS:
        values.setdefault(_TEXTS[label][0], value or None)
    elif label in _LISTS:
        _listed(module, _LISTS[label][0], value)
    elif label == "depends":
        values["depends"] = [one for one in value.split(",") if one]
    elif label == "alias":
        count = values.get("alias_count")
        values["alias_count"] = count + 1 if isinstance(count, int) else 1
    elif label == "parm":
        _listed(module, "parameters", value.partition(":")[0])
    elif label in ("intree", "retpoline"):
        name = "in_tree" if label == "intree" else label
        values[name] = {"Y": True, "N": False}.get(value)
    if label in ("signer", "sig_id", "signature"):
        values["signed"] = True


def _listed(module: Entity, name: str, value: str) -> None:
    listed = module.values.setdefault(name, [])
    if isinstance(listed, list) and value and len(listed) < _MOST_LISTED:
        listed.append(value)


def _finish(reading: Reading, modules: list[Entity], missing: list[str]) -> Reading:
    """Name the modules, say what is derived and what is not there."""
    if not modules and not missing:
        return _plain.nothing(reading, "`filename:`")
    node = reading.add(Entity("", values={"module_count": len(modules)}))
    node.values["missing_modules"] = list(missing)
    for index, module in enumerate(modules):
        values = module.values
        file = _FILE.search(str(values.get("filename") or ""))
        if module.path == "module:":
            module.path = f"module:{file.group(1).replace('-', '_') if file else index}"
        module.path = f"module:{module.path[7:].replace('/', '_') or index}"
        magic = values.get("vermagic")
        if isinstance(magic, str):
            values["kernel_release"] = magic.split()[0]
        whole = isinstance(magic, str) or values.get("built_in") is True
        if whole:
            values.setdefault("signed", None if values.get("built_in") else False)
            values.setdefault("in_tree", None if values.get("built_in") else False)
            values.setdefault("version", None)
        if reading.add(module) is module and not whole:
            _plain.note(reading, "truncated", "it ends before `vermagic`", entity=module.path)
    if missing:
        says = f"not there for this kernel: {', '.join(missing[:8])}"
        _plain.note(reading, "tool_error", says)
        reading.quality = reading.quality if modules else ABSENT
    return reading
