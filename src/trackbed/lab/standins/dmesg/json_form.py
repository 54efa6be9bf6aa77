"""The document that dmesg --json writes, as lib/jsonwrt.c of util-linux lays it out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..common.kernel_log import Entry


def report(found: Sequence[Entry], levels: Sequence[str] | None) -> Iterator[str]:
    """Yield the lines; with the names of the levels where they are given."""
    yield "{"
    yield '   "dmesg": ['
    for number, entry in enumerate(found):
        yield "      {" if number == 0 else "      },{"
        if levels:
            yield '         "fac": "kern",'
            yield f'         "pri": "{levels[entry.level]}",'
        else:
            yield f'         "pri": {entry.level},'
        yield f'         "time": {entry.seconds:12.6f},'
        yield f'         "msg": {json.dumps(entry.text, ensure_ascii=False)}'
    if found:
        yield "      }"
    yield "   ]"
    yield "}"
