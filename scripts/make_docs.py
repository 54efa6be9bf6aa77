"""Write the pages that are made from the code, below docs/. `--check` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from trackbed import collection

collection.activate()

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _book, _kinds  # noqa: E402

from trackbed import checks_page  # noqa: E402
from trackbed.reading import schema  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def pages() -> dict[Path, str]:
    """Return each page that is made, with its text."""
    return {
        ROOT / "docs" / "readings.md": schema.page(_kinds.kinds()),
        ROOT / "docs" / "checks.md": checks_page.page(_book.load().checks),
    }


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are out of date (exit code 1)."""
    stale = [
        path for path, text in pages().items() if not path.is_file() or path.read_text() != text
    ]
    for path in stale:
        if arguments == ["--check"]:
            sys.stderr.write(f"{path.relative_to(ROOT)} is out of date: run `make docs`\n")
        else:
            path.write_text(pages()[path])
    return 1 if stale and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
