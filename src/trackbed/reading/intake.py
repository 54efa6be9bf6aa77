"""Open what a person points at: files, gz/xz/bz2, directories, tarballs, bug reports.

Everything is read in memory and nothing is unpacked to disk, so that a hostile
archive can neither write nor follow a link. What is over a limit is cut, and
the item says so.
"""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from trackbed.errors import UsageError

# A 100 MB kernel log is a normal customer file; a decompression bomb is not.
MAX_BYTES = 512 * 1024 * 1024
MAX_ITEMS = 20_000
_SECTION = re.compile(r"(?m)^_{20,}\n\n?")


@dataclasses.dataclass(frozen=True)
class Item:
    """One input of a reader: a file, a member of an archive, a section of a bug report."""

    name: str
    data: bytes
    explicit: bool
    """Whether the user named this very file."""
    trouble: str | None = None
    """What went wrong while it was opened; `data` is what could be had."""


def items(paths: list[Path]) -> Iterator[Item]:
    """Yield every input in these paths, in a stable order. Raises UsageError for a missing path."""
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise UsageError(
            f"no such file: {', '.join(missing)}", remedy="name existing files or directories"
        )
    for count, item in enumerate(_all(paths)):
        if count >= MAX_ITEMS:
            says = f"only the first {MAX_ITEMS} files were read"
            yield Item("…", b"", explicit=True, trouble=says)
            return
        yield item


def _all(paths: list[Path]) -> Iterator[Item]:
    for path in paths:
        if path.is_dir():
            for inner in sorted(path.rglob("*")):
                # A link may lead out of what was handed to us.
                if inner.is_file() and not inner.is_symlink():
                    yield from _file(inner, explicit=False)
        else:
            yield from _file(path, explicit=True)


def _file(path: Path, *, explicit: bool) -> Iterator[Item]:
    try:
        with path.open("rb") as stream:
            yield from _stream(str(path), stream, explicit=explicit)
    except OSError as error:
        yield Item(str(path), b"", explicit, trouble=f"cannot be read: {error.strerror}")


def _stream(name: str, stream: IO[bytes], *, explicit: bool, depth: int = 0) -> Iterator[Item]:
    """Read one stream, taking off at most one layer of compression and one of tar."""
    data, trouble = _decompressed(stream)
    if depth == 0 and _is_tar(data):
        yield from _members(name, data, trouble)
        return
    item = Item(name, data, explicit, trouble)
    yield from _sections(item) or [item]


def _decompressed(stream: IO[bytes]) -> tuple[bytes, str | None]:
    read = _reader(stream)
    data = bytearray()
    try:
        while len(data) < MAX_BYTES:
            chunk = read(1 << 16)
            if not chunk:
                return bytes(data), None
            data += chunk
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        return bytes(data), f"damaged compression ({error}); what came before it was read"
    return bytes(data[:MAX_BYTES]), f"only the first {MAX_BYTES >> 20} MiB were read"


def _reader(stream: IO[bytes]) -> Callable[[int], bytes]:
    """Return what reads the plain bytes of this stream.

    read1, because read would throw away what a damaged stream gave before its damage.
    """
    head = stream.read(2)
    stream.seek(0)
    if head == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=stream).read1
    if head == b"\xfd7":
        return lzma.LZMAFile(stream).read1
    return bz2.BZ2File(stream).read1 if head == b"BZ" else stream.read


def _is_tar(data: bytes) -> bool:
    return data[257:262] == b"ustar"


def _members(name: str, data: bytes, trouble: str | None) -> Iterator[Item]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if not member.isfile():
                    continue
                stream = archive.extractfile(member)
                if stream is not None:
                    inner = f"{name}:{member.name}"
                    yield from _stream(inner, io.BytesIO(stream.read()), explicit=False, depth=1)
    except (tarfile.TarError, OSError, EOFError) as error:
        trouble = trouble or f"damaged archive ({error}); what came before it was read"
    if trouble:
        yield Item(name, b"", explicit=True, trouble=trouble)


def _sections(item: Item) -> list[Item]:
    """Split what nvidia-bug-report.sh writes; empty for any other text.

    Each section stands between two lines of underscores. A file's begins with
    `*** PATH` and `*** ls: ...`; a command's with the command line.
    """
    if b"Start of NVIDIA bug report log file" not in item.data[:4096]:
        return []
    text = item.data.decode("utf-8", "replace")
    found = []
    for part in _SECTION.split(text)[1:]:
        title, _, body = part.partition("\n")
        title = title.removeprefix("*** ").strip()
        body = re.sub(r"\A\*\*\* ls: .*\n", "", body)
        if body.strip() and not title.endswith("does not exist"):
            found.append(Item(f"{item.name}#{title}", body.encode(), explicit=False))
    return found
