"""Rules of this house that no linter knows."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.checkout import ROOT, tracked

FILE_LINES_WARN, FILE_LINES = 300, 500
FUNCTION_LINES = 40
# Directories whose Python is ours to read; tests may have longer tables, but not longer files.
CODE = ("plugins", "src", "scripts", "bench")
LICENCE = re.compile(
    r"(#!/usr/bin/python\n)?"
    r"# Copyright[^\n]*\n"
    r"# GNU General Public License v3\.0\+ [^\n]*\n"
    r"# SPDX-License-Identifier: GPL-3\.0-or-later\n"
)
# Places of one machine, and hosts that a user's own configuration has to name; in brackets, so
# that the pattern does not find itself.
FORBIDDEN = re.compile(
    r"/wor[k]/|/roo[t]/|/tm[p]/w/|py[p]i\.org|python[h]osted\.org|npm[j]s\.org|de[b]\.debian\.org"
)


def _python(*under: str) -> list[str]:
    return [
        name
        for name in tracked(*under)
        if name.endswith(".py") and not (ROOT / name).is_symlink() and "tests/data/" not in name
    ]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _functions(name: str) -> Iterator[tuple[str, int]]:
    """Yield each function with its lines of code: no blank lines, comments or docstring."""
    text = _text(name)
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        skipped: set[int] = set()
        if ast.get_docstring(node) is not None:
            skipped = set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        code = [
            number
            for number in range(node.lineno, (node.end_lineno or 0) + 1)
            if number not in skipped and lines[number - 1].strip()
            if not lines[number - 1].lstrip().startswith("#")
        ]
        yield f"{name}:{node.lineno} {node.name}", len(code)


def test_no_file_is_too_long() -> None:
    lengths = {name: len(_text(name).splitlines()) for name in _python(*CODE, "tests")}
    long = {name: length for name, length in lengths.items() if length > FILE_LINES_WARN}
    if long:
        warnings.warn(f"over {FILE_LINES_WARN} lines: {long}", stacklevel=1)
    assert {name: length for name, length in long.items() if length > FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    lengths = [found for name in _python(*CODE) for found in _functions(name)]
    assert lengths
    assert [found for found in lengths if found[1] > FUNCTION_LINES] == []


def test_every_plugin_begins_with_its_licence() -> None:
    # validate-modules asks it of modules; the collection's other code is under it as well.
    files = [name for name in _python("plugins") if _text(name).strip()]
    assert [name for name in files if not LICENCE.match(_text(name))] == []


@pytest.mark.parametrize("directory", ["module_utils", "plugin_utils"])
def test_utils_are_private(directory: str) -> None:
    place = f"plugins/{directory}"
    names = {Path(name).relative_to(place).parts[0] for name in _python(place)}
    assert names
    assert {name for name in names if not name.startswith("_")} == set()


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = []
    for name in tracked():
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        lines = path.read_bytes().decode("utf-8", "replace").splitlines()
        found += [f"{name}:{n}: {ln}" for n, ln in enumerate(lines, 1) if FORBIDDEN.search(ln)]
    assert not found, "\n".join(found)


def test_node_code_imports_the_standard_library_and_itself_alone() -> None:
    allowed = ("ansible.module_utils.", "ansible_collections.trackbed.cluster.plugins.module_utils")
    found = []
    for name in _python("plugins/modules", "plugins/module_utils"):
        for node in ast.walk(ast.parse(_text(name))):
            for module in _imported(node):
                if module.partition(".")[0] in sys.stdlib_module_names:
                    continue
                if not f"{module}.".startswith(allowed):
                    found.append(f"{name}:{node.lineno}: {module}")
    assert not found, "\n".join(found)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module or ""]
    return []
