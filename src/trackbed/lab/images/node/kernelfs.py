#!/usr/bin/python3
"""Serve private copies of kernel settings that behave like the kernel's own.

A copy on a tmpfs would not do: a write without O_TRUNC (systemd-sysctl) leaves the tail of the old
value, `[always] madvise never` would lose its brackets, and nothing would ever be refused. This
file system (FUSE, protocol 7.31, no library) takes its files from a directory of the host's kernel
at start; a writable file then has a value of its own, a read-only one is read through.

A write to a file replaces its value, as in proc(5):
* `[always] madvise never`: one of the words, which gets the brackets;
* integers: at most as many integers as there are; they come back separated by tabs;
* write-only files: anything, without effect;
* everything else: kept as text, one line.
What a real kernel checks beyond that (ranges) is not known here and not refused.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path

Source = tuple["int | None", str]
# Files of /proc/sys that must give a new or a namespaced value at every read or write.
THROUGH = {"kernel/random/uuid", "kernel/hostname", "kernel/domainname"}
IN_HEADER = struct.Struct("<IIQQIIII")
OUT_HEADER = struct.Struct("<IiQ")
ATTR = struct.Struct("<6Q10I")
ENTRY = struct.Struct("<4Q2I")
MAX_WRITE = 65536


class RefusedError(Exception):
    """An operation that the kernel would refuse; `number` is the errno."""

    def __init__(self, number: int | None) -> None:
        super().__init__(number)
        self.number = number or errno.EIO


class Node:
    """One directory or file. What has a source is read (and written) through to it."""

    def __init__(self, mode: int, value: bytes = b"", source: Source | None = None) -> None:
        self.mode = mode
        self.value = value
        self.source = source
        self.children: dict[str, Node] = {}
        self.number = 0

    @property
    def is_directory(self) -> bool:
        """Whether it holds other nodes."""
        return stat.S_ISDIR(self.mode)

    def read(self) -> bytes:
        """Return the whole content."""
        if self.source is not None:
            return read_source(self.source)
        return self.value

    def write(self, data: bytes) -> None:
        """Replace the value, as the kernel would."""
        if not self.mode & 0o222:
            raise RefusedError(errno.EACCES)
        if self.source is not None:
            write_source(self.source, data)
        elif self.mode & 0o444:
            self.value = changed(self.value, data)


def read_source(source: Source) -> bytes:
    """Return what a (directory descriptor, name) or a path holds now."""
    directory, name = source
    try:
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        raise RefusedError(error.errno) from error
    try:
        return b"".join(iter(lambda: os.read(handle, 65536), b""))
    except OSError as error:
        raise RefusedError(error.errno) from error
    finally:
        os.close(handle)


def write_source(source: Source, data: bytes) -> None:
    """Write to a real file, and refuse what it refuses."""
    directory, name = source
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)
    except OSError as error:
        raise RefusedError(error.errno) from error


def integers(words: list[bytes]) -> list[int] | None:
    """Return the words as integers, or None where one is not."""
    try:
        return [int(word, 0) if word.lower().startswith(b"0x") else int(word) for word in words]
    except ValueError:
        return None


def changed(old: bytes, data: bytes) -> bytes:
    """Return the new content of a file after a write, or raise RefusedError(EINVAL)."""
    words, given = old.split(), data.split(b"\0", 1)[0].split()
    names = [word.strip(b"[]") for word in words]
    if sum(word.startswith(b"[") and word.endswith(b"]") for word in words) == 1:
        if len(given) != 1 or given[0] not in names:
            raise RefusedError(errno.EINVAL)
        return b" ".join(b"[%s]" % name if name == given[0] else name for name in names) + b"\n"
    numbers = integers(words) if words else None
    if numbers is None:
        return b" ".join(given) + b"\n"
    new = integers(given)
    if not new or len(new) > len(numbers):
        raise RefusedError(errno.EINVAL)
    return b"\t".join(b"%d" % number for number in new + numbers[len(new) :]) + b"\n"


def load(path: str) -> Node:
    """Return the tree of nodes under a directory of the kernel's."""
    top = Node(stat.S_IFDIR | 0o555)
    base = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    _load_into(top, base, "")
    return top


def _load_into(parent: Node, directory: int, prefix: str) -> None:
    for entry in sorted(os.scandir(directory), key=lambda item: item.name):
        info = entry.stat(follow_symlinks=False)
        where = prefix + entry.name
        if stat.S_ISDIR(info.st_mode):
            child = Node(stat.S_IFDIR | 0o555)
            inside = os.open(
                entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory
            )
            _load_into(child, inside, where + "/")
        elif stat.S_ISREG(info.st_mode):
            child = _load_file(directory, entry.name, info.st_mode, where)
        else:
            continue
        parent.children[entry.name] = child


def _load_file(directory: int, name: str, mode: int, where: str) -> Node:
    source: Source = (directory, name)
    if where in THROUGH or not mode & 0o222:
        return Node(mode, source=source)
    try:
        value = read_source(source) if mode & 0o444 else b""
    except RefusedError:
        value = b""
    return Node(mode, value=value)


def put(top: Node, path: str, node: Node) -> None:
    """Place a node at a path; directories on the way are made."""
    *parents, last = path.split("/")
    for name in parents:
        top = top.children.setdefault(name, Node(stat.S_IFDIR | 0o555))
    top.children[last] = node


def find(top: Node, path: str) -> Node | None:
    """Return the node at a path, or None."""
    found: Node | None = top
    for name in path.split("/"):
        found = found.children.get(name) if found is not None else None
    return found


def add_defaults(top: Node, text: str) -> None:
    """Add the settings that this kernel shows, or lets change, in the host's own namespace only.

    One a line: path, TAB, mode in octal, TAB, content with `\\t` and `\\n` written so.
    """
    for line in text.splitlines():
        path, mode, value = line.split("\t", 2)
        known = find(top, path)
        if known is None or (not known.mode & 0o222 and int(mode, 8) & 0o222):
            content = value.replace("\\t", "\t").replace("\\n", "\n").encode()
            put(top, path, Node(stat.S_IFREG | int(mode, 8), value=content))


class Server:
    """Answers the kernel's FUSE requests for one tree."""

    def __init__(self, top: Node) -> None:
        self.nodes: dict[int, Node] = {}
        self._number(top)
        self.answers: dict[int, Callable[[Node, bytes], bytes]] = {
            1: self.lookup, 3: self.getattr, 4: self.setattr, 14: self.open, 15: self.read,
            16: self.write, 17: self.statfs, 18: self.nothing, 20: self.nothing,
            25: self.nothing, 26: self.init, 27: self.open, 28: self.readdir, 29: self.nothing,
            30: self.nothing, 34: self.nothing,
        }  # fmt: skip

    def _number(self, node: Node) -> None:
        node.number = len(self.nodes) + 1
        self.nodes[node.number] = node
        for child in node.children.values():
            self._number(child)

    def answer(self, request: bytes) -> bytes | None:
        """Return the reply to one request, or None where there must be none."""
        _, code, unique, number, *_ = IN_HEADER.unpack_from(request)
        if code in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET
            return None
        body, error = b"", 0
        try:
            if code in (5, 6, 8, 9, 10, 11, 12, 13, 35):  # everything that makes or removes
                raise RefusedError(errno.EPERM)
            handler = self.answers.get(code)
            if handler is None:
                raise RefusedError(errno.ENOSYS)
            # INIT and STATFS may name no node; any will do.
            body = handler(self.nodes.get(number) or self.nodes[1], request[IN_HEADER.size :])
        except RefusedError as refused:
            error = refused.number
        return OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body

    def attributes(self, node: Node) -> bytes:
        """Return struct fuse_attr."""
        links = 2 if node.is_directory else 1
        return ATTR.pack(node.number, 0, 0, 0, 0, 0, 0, 0, 0, node.mode, links, 0, 0, 0, 4096, 0)

    def init(self, _node: Node, body: bytes) -> bytes:
        """Agree on a version."""
        major, minor, readahead, _flags = struct.unpack_from("<4I", body)
        if major != 7:
            raise RefusedError(errno.EPROTO)
        return struct.pack("<4I2H2I2H8I", 7, min(minor, 31), readahead, 0, 16, 12, MAX_WRITE, 1,
                            0, 0, *[0] * 8)  # fmt: skip

    def lookup(self, node: Node, body: bytes) -> bytes:
        """Find a name in a directory."""
        child = node.children.get(os.fsdecode(body.rstrip(b"\0")))
        if child is None:
            raise RefusedError(errno.ENOENT)
        # Nothing ever comes or goes: the kernel may remember names for an hour.
        return ENTRY.pack(child.number, 0, 3600, 3600, 0, 0) + self.attributes(child)

    def getattr(self, node: Node, _body: bytes) -> bytes:
        """Say what a node is."""
        return struct.pack("<Q2I", 3600, 0, 0) + self.attributes(node)

    def setattr(self, node: Node, body: bytes) -> bytes:
        """Refuse what proc(5) refuses; truncating and touching do nothing."""
        (valid,) = struct.unpack_from("<I", body)
        if valid & 0b111:  # mode, uid, gid
            raise RefusedError(errno.EPERM)
        return self.getattr(node, body)

    def open(self, node: Node, body: bytes) -> bytes:
        """Check the mode: the kernel lets root pass, proc(5) does not."""
        (flags,) = struct.unpack_from("<I", body)
        access = flags & os.O_ACCMODE
        if not node.is_directory:
            if access != os.O_RDONLY and not node.mode & 0o222:
                raise RefusedError(errno.EACCES)
            if access != os.O_WRONLY and not node.mode & 0o444:
                raise RefusedError(errno.EACCES)
        return struct.pack("<Q2I", 0, 1, 0)  # FOPEN_DIRECT_IO: never from a cache

    def read(self, node: Node, body: bytes) -> bytes:
        """Return a part of the content."""
        _handle, offset, size = struct.unpack_from("<QQI", body)
        return node.read()[offset : offset + size]

    def write(self, node: Node, body: bytes) -> bytes:
        """Take a value; what comes after the first write is no value."""
        _handle, offset, size = struct.unpack_from("<QQI", body)
        if offset == 0:
            node.write(body[40 : 40 + size])
        return struct.pack("<2I", size, 0)

    def readdir(self, node: Node, body: bytes) -> bytes:
        """List a directory."""
        _handle, offset, size = struct.unpack_from("<QQI", body)
        entries = [(".", node), ("..", node), *node.children.items()]
        reply = b""
        for index in range(offset, len(entries)):
            name, child = os.fsencode(entries[index][0]), entries[index][1]
            kind = stat.S_IFMT(child.mode) >> 12
            entry = struct.pack("<QQII", child.number, index + 1, len(name), kind) + name
            entry += b"\0" * (-len(entry) % 8)
            if len(reply) + len(entry) > size:
                break
            reply += entry
        return reply

    def statfs(self, _node: Node, _body: bytes) -> bytes:
        """Say nothing of sizes, as proc(5)."""
        return struct.pack("<5Q4I6I", 0, 0, 0, 0, 0, 4096, 255, 4096, 0, *[0] * 6)

    def nothing(self, _node: Node, _body: bytes) -> bytes:
        """Agree."""
        return b""


def mount(where: str) -> int:
    """Mount an empty FUSE file system and return its descriptor."""
    handle = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={handle},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    libc = ctypes.CDLL(None, use_errno=True)
    flags = 2 | 4 | 8  # MS_NOSUID, MS_NODEV, MS_NOEXEC
    if libc.mount(b"lab-kernel", os.fsencode(where), b"fuse.kernelfs", flags, options.encode()):
        raise OSError(ctypes.get_errno(), f"mounting {where}")
    return handle


def serve(handle: int, server: Server) -> None:
    """Answer until the file system is unmounted."""
    while True:
        try:
            request = os.read(handle, MAX_WRITE + 4096)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                continue
            if error.errno == errno.ENODEV:  # unmounted
                return
            raise
        reply = server.answer(request)
        if reply is not None:
            try:
                os.write(handle, reply)
            except OSError as error:
                if error.errno != errno.ENOENT:  # the caller has gone
                    raise


def tree_of(args: argparse.Namespace) -> Node:
    """Return the whole tree that the arguments ask for."""
    top = Node(stat.S_IFDIR | 0o555)
    for item in args.tree:
        name, _, source = item.partition("=")
        if Path(source).is_dir():
            top.children[name] = load(source)
    for item in args.defaults:
        name, _, source = item.partition("=")
        if name in top.children and Path(source).exists():
            add_defaults(top.children[name], Path(source).read_text(encoding="utf-8"))
    for item in args.live:
        path, _, source = item.partition("=")
        if Path(source).exists():
            put(top, path, Node(stat.S_IFREG | 0o444, source=(None, source)))
    return top


def main(argv: list[str]) -> int:
    """Mount and serve until unmounted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("where")
    parser.add_argument("--tree", action="append", default=[], help="NAME=directory of the kernel")
    parser.add_argument(
        "--defaults", action="append", default=[], help="NAME=file, see add_defaults"
    )
    parser.add_argument("--live", action="append", default=[], help="PATH=file to read through")
    args = parser.parse_args(argv)
    server = Server(tree_of(args))
    serve(mount(args.where), server)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
