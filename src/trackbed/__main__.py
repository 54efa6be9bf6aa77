"""`python -m trackbed`."""

from __future__ import annotations

from trackbed.cli import entry

if __name__ == "__main__":
    entry()
