"""JSON as the vendor's tools write it: by jsoncpp, keys in order of their names.

Two of its writers: StreamWriter, a tab a step and an object's brace on a line of its own; and
StyledWriter, three blanks a step, short arrays on one line
(https://github.com/open-source-parsers/jsoncpp, src/lib_json/json_writer.cpp).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SHORT = 74  # columns that an array may have on one line


def streamed(value: Any, indent: str = "") -> str:
    """Return the text of StreamWriter."""
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if not value:
        return "{}"
    deeper = indent + "\t"
    parts = []
    for name in sorted(value):
        body = streamed(value[name], deeper)
        apart = f"\n{deeper}" if isinstance(value[name], Mapping) and value[name] else ""
        parts.append(f"{deeper}{json.dumps(name)} : {apart}{body}")
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def styled(value: Any, indent: str = "") -> str:
    """Return the text of StyledWriter."""
    deeper = indent + "   "
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        parts = [f"{deeper}{json.dumps(n)} : {styled(value[n], deeper)}" for n in sorted(value)]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list):
        return _array([styled(item, deeper) for item in value], indent)
    return json.dumps(value, ensure_ascii=False)


def _array(parts: list[str], indent: str) -> str:
    one = f"[ {', '.join(parts)} ]"
    if not parts:
        return "[]"
    if len(one) < _SHORT:
        return one
    deeper = indent + "   "
    return "[\n" + ",\n".join(f"{deeper}{part}" for part in parts) + f"\n{indent}]"
