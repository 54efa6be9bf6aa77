"""Every program that a package brings calls a function that exists."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest
from daemon_node import PAYLOAD

ENTRY = re.compile(r"^from standins\.([\w.]+) import (\w+)", re.MULTILINE)
ENTRIES = sorted(
    {
        (path.name, *found.groups())
        for path in PAYLOAD.rglob("*")
        if path.is_file()
        for found in ENTRY.finditer(path.read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize(("program", "module", "function"), ENTRIES)
def test_every_program_of_every_package_has_its_function(
    program: str, module: str, function: str
) -> None:
    found = getattr(importlib.import_module(f"trackbed.lab.standins.{module}"), function, None)
    assert callable(found), f"{program} calls {module}.{function}"
    text = "".join(p.read_text(encoding="utf-8") for p in PAYLOAD.rglob(program) if p.is_file())
    given = ["580.126.09"] if f'{function}("@VERSION@")' in text else []
    inspect.signature(found).bind(*given)


def test_the_entries_were_found() -> None:
    assert {"nv-fabricmanager", "dcgmi", "nvidia-smi", "nvlsm"} <= {one[0] for one in ENTRIES}
