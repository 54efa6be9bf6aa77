"""The private kernel settings: what a write leaves, and the FUSE answers byte by byte."""

from __future__ import annotations

import errno
import importlib.util
import os
import stat
import struct
import sys

import pytest

from trackbed.lab import recipes

_SPEC = importlib.util.spec_from_file_location(
    "lab_kernelfs", recipes.node("debian12").sources[0] / "kernelfs.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
kernelfs = importlib.util.module_from_spec(_SPEC)
sys.modules["lab_kernelfs"] = kernelfs
_SPEC.loader.exec_module(kernelfs)

LOOKUP, GETATTR, SETATTR, MKDIR, UNLINK, OPEN, READ, WRITE = 1, 3, 4, 9, 10, 14, 15, 16
STATFS, RELEASE, GETXATTR, INIT, READDIR, FORGET = 17, 18, 22, 26, 28, 2


@pytest.mark.parametrize(
    ("old", "written", "new"),
    [
        (b"60\n", b"1", b"1\n"),
        (b"262144\n", b"1\n", b"1\n"),
        (b"60\n", b"0x10", b"16\n"),
        (b"-1\n", b"-1\n", b"-1\n"),
        (b"4096\t87380\t6291456\n", b"1 2 3", b"1\t2\t3\n"),
        (b"4\t4\t1\t7\n", b"3", b"3\t4\t1\t7\n"),
        (b"always [madvise] never\n", b"never", b"always madvise [never]\n"),
        (b"cubic\n", b"bbr\n", b"bbr\n"),
        (b"\n", b"anything at all", b"anything at all\n"),
        (b"core\n", b"|/usr/lib/x %P\0rest", b"|/usr/lib/x %P\n"),
    ],
)
def test_a_write_replaces_the_value_as_the_kernel_would(old, written, new):
    assert kernelfs.changed(old, written) == new


@pytest.mark.parametrize(
    ("old", "written"),
    [
        (b"60\n", b"much"),
        (b"60\n", b""),
        (b"60\n", b"1 2"),
        (b"always [madvise] never\n", b"sometimes"),
        (b"always [madvise] never\n", b"always never"),
    ],
)
def test_what_the_kernel_refuses_is_refused(old, written):
    with pytest.raises(kernelfs.RefusedError) as caught:
        kernelfs.changed(old, written)
    assert caught.value.number == errno.EINVAL


@pytest.fixture
def tree(tmp_path):
    source = tmp_path / "sys"
    (source / "vm").mkdir(parents=True)
    (source / "vm/swappiness").write_bytes(b"60\n")
    (source / "vm/compact_memory").write_bytes(b"")
    (source / "vm/compact_memory").chmod(0o200)
    (source / "vm/stat").write_bytes(b"7\n")
    (source / "vm/stat").chmod(0o444)
    (source / "kernel").mkdir()
    (source / "kernel/hostname").write_bytes(b"gpu-001\n")
    (source / "link").symlink_to("vm")
    return source, kernelfs.load(str(source))


def test_writable_files_are_private_and_others_are_read_through(tree):
    source, top = tree
    node = kernelfs.find(top, "vm/swappiness")
    node.write(b"1")
    assert node.read() == b"1\n"
    assert (source / "vm/swappiness").read_bytes() == b"60\n"
    (source / "vm/stat").chmod(0o644)
    (source / "vm/stat").write_bytes(b"8\n")
    assert kernelfs.find(top, "vm/stat").read() == b"8\n"
    with pytest.raises(kernelfs.RefusedError):
        kernelfs.find(top, "vm/stat").write(b"9")
    assert kernelfs.find(top, "link") is None
    assert kernelfs.find(top, "vm/none") is None


def test_a_namespaced_name_is_written_through(tree):
    source, top = tree
    kernelfs.find(top, "kernel/hostname").write(b"gpu-002\n")
    assert (source / "kernel/hostname").read_bytes() == b"gpu-002\n"
    (source / "kernel/hostname").unlink()
    for attempt in (kernelfs.find(top, "kernel/hostname").read,
                    lambda: kernelfs.find(top, "kernel/hostname").write(b"x")):  # fmt: skip
        with pytest.raises(kernelfs.RefusedError) as caught:
            attempt()
        assert caught.value.number == errno.ENOENT


def test_a_write_only_file_takes_anything_and_keeps_nothing(tree):
    node = kernelfs.find(tree[1], "vm/compact_memory")
    node.write(b"1")
    assert node.read() == b""


def test_defaults_fill_what_is_missing_or_cannot_be_changed(tree):
    _, top = tree
    kernelfs.add_defaults(
        top, "net/core/rmem_max\t644\t212992\\n\nvm/stat\t644\t5\\n\nvm/swappiness\t644\t9\\n\n"
    )
    assert kernelfs.find(top, "net/core/rmem_max").read() == b"212992\n"
    assert kernelfs.find(top, "vm/stat").read() == b"5\n"
    assert kernelfs.find(top, "vm/swappiness").read() == b"60\n"


def test_the_arguments_make_one_tree(tree, tmp_path):
    source, _ = tree
    (tmp_path / "release").write_bytes(b"6.1.0\n")
    (tmp_path / "defaults").write_text("net/a\t644\t1\\n\n", encoding="ascii")
    parsed = type("Args", (), {
        "tree": [f"p={source}", "none=/none/such"],
        "defaults": [f"p={tmp_path}/defaults", "none=x"],
        "live": [f"p/kernel/osrelease={tmp_path}/release", "p/x=/none/such"],
    })  # fmt: skip
    top = kernelfs.tree_of(parsed)
    assert sorted(top.children) == ["p"]
    live = kernelfs.find(top, "p/kernel/osrelease")
    assert live.read() == b"6.1.0\n"
    (tmp_path / "release").write_bytes(b"6.8.0\n")
    assert live.read() == b"6.8.0\n"
    assert kernelfs.find(top, "p/net/a").read() == b"1\n"
    assert kernelfs.find(top, "p/x") is None


@pytest.fixture
def ask(tree):
    server = kernelfs.Server(tree[1])

    def request(code, number=1, body=b""):
        header = kernelfs.IN_HEADER.pack(40 + len(body), code, 77, number, 0, 0, 1, 0)
        reply = server.answer(header + body)
        if reply is None:
            return None
        length, error, unique = kernelfs.OUT_HEADER.unpack_from(reply)
        assert length == len(reply)
        assert unique == 77
        return -error, reply[kernelfs.OUT_HEADER.size :]

    return request


def number_of(ask, *names):
    number = 1
    for name in names:
        error, body = ask(LOOKUP, number, name.encode() + b"\0")
        assert error == 0
        (number,) = struct.unpack_from("<Q", body)
    return number


def test_the_version_is_agreed_and_another_is_refused(ask):
    error, body = ask(INIT, 0, struct.pack("<4I", 7, 40, 65536, 0))
    assert error == 0
    assert len(body) == 64
    assert struct.unpack_from("<2I", body) == (7, 31)
    assert ask(INIT, 0, struct.pack("<4I", 8, 0, 0, 0))[0] == errno.EPROTO


def test_names_attributes_and_sizes_have_the_kernels_layout(ask):
    error, body = ask(LOOKUP, 1, b"vm\0")
    assert (error, len(body)) == (0, 128)
    assert ask(LOOKUP, 1, b"none\0")[0] == errno.ENOENT
    error, body = ask(GETATTR, number_of(ask, "vm", "swappiness"), b"\0" * 16)
    assert (error, len(body)) == (0, 104)
    mode = struct.unpack_from("<I", body, 16 + 60)[0]
    assert stat.S_ISREG(mode)
    assert len(ask(STATFS)[1]) == 80


def test_a_file_is_read_in_parts_and_written_once(ask):
    number = number_of(ask, "vm", "swappiness")
    write = struct.pack("<QQIIQII", 0, 0, 2, 0, 0, 0, 0) + b"10"
    assert ask(WRITE, number, write) == (0, struct.pack("<2I", 2, 0))
    late = struct.pack("<QQIIQII", 0, 2, 2, 0, 0, 0, 0) + b"99"
    assert ask(WRITE, number, late)[0] == 0
    read = struct.pack("<QQIIQII", 0, 0, 4096, 0, 0, 0, 0)
    assert ask(READ, number, read) == (0, b"10\n")
    assert ask(READ, number, struct.pack("<QQIIQII", 0, 1, 4096, 0, 0, 0, 0)) == (0, b"0\n")
    wrong = struct.pack("<QQIIQII", 0, 0, 3, 0, 0, 0, 0) + b"bad"
    assert ask(WRITE, number, wrong)[0] == errno.EINVAL


def test_modes_bind_root_too(ask):
    stat_file, trigger = number_of(ask, "vm", "stat"), number_of(ask, "vm", "compact_memory")
    assert ask(OPEN, stat_file, struct.pack("<2I", os.O_RDONLY, 0))[0] == 0
    assert ask(OPEN, stat_file, struct.pack("<2I", os.O_WRONLY, 0))[0] == errno.EACCES
    assert ask(OPEN, trigger, struct.pack("<2I", os.O_WRONLY, 0))[0] == 0
    assert ask(OPEN, trigger, struct.pack("<2I", os.O_RDWR, 0))[0] == errno.EACCES


def test_truncating_is_nothing_and_changing_the_mode_is_refused(ask):
    number = number_of(ask, "vm", "swappiness")
    assert ask(SETATTR, number, struct.pack("<I", 1 << 3) + b"\0" * 84)[0] == 0
    assert ask(READ, number, struct.pack("<QQIIQII", 0, 0, 99, 0, 0, 0, 0))[1] == b"60\n"
    assert ask(SETATTR, number, struct.pack("<I", 1) + b"\0" * 84)[0] == errno.EPERM


def test_nothing_can_be_made_or_removed_and_the_unknown_is_named_so(ask):
    assert ask(MKDIR, 1, b"x\0")[0] == errno.EPERM
    assert ask(UNLINK, 1, b"x\0")[0] == errno.EPERM
    assert ask(GETXATTR, 1, b"x\0")[0] == errno.ENOSYS
    assert ask(RELEASE, 1) == (0, b"")
    assert ask(FORGET) is None


def entries_of(body):
    names, at = [], 0
    while at < len(body):
        number, offset, length, _ = struct.unpack_from("<QQII", body, at)
        names.append((body[at + 24 : at + 24 + length].decode(), offset, number))
        at += 24 + length + (-(24 + length) % 8)
    return names


def test_a_directory_is_listed_in_parts(ask):
    number = number_of(ask, "vm")
    listed, offset = [], 0
    while True:
        body = ask(READDIR, number, struct.pack("<QQIIQII", 0, offset, 72, 0, 0, 0, 0))[1]
        part = entries_of(body)
        if not part:
            break
        assert len(body) <= 72
        listed += [name for name, _, _ in part]
        offset = part[-1][1]
    assert listed == [".", "..", "compact_memory", "stat", "swappiness"]


def test_serving_ends_with_the_mount_and_survives_a_gone_caller(ask, monkeypatch):
    answers = iter([OSError(errno.EINTR, "x"), b"request", OSError(errno.ENODEV, "gone")])

    def read(handle, size):
        item = next(answers)
        if isinstance(item, OSError):
            raise item
        return item

    def write(handle, data):
        raise OSError(errno.ENOENT, "caller gone")

    monkeypatch.setattr(kernelfs.os, "read", read)
    monkeypatch.setattr(kernelfs.os, "write", write)
    server = type("Server", (), {"answer": staticmethod(lambda request: b"reply")})
    kernelfs.serve(3, server)
    assert next(answers, "ended") == "ended"
