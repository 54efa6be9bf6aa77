"""Write files so that a killed command leaves the old one or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def private_dir(path: Path) -> Path:
    """Return the directory, made if need be, that only its owner may enter."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def write(path: Path, text: str, mode: int = 0o600) -> bool:
    """Put a text file in place at once; return whether that changed anything."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True
