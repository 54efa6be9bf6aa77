"""modprobe, rmmod and lsmod, with kmod's words and exit codes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ..common.places import release
from . import files, loaded, nvidia
from .files import Module, normal

_FLAGS = {
    "-q": "quiet", "--quiet": "quiet", "-s": "quiet", "--syslog": "quiet",
    "-n": "dry", "--dry-run": "dry", "--show": "dry",
    "-b": "blacklist", "--use-blacklist": "blacklist",
    "-r": "remove", "--remove": "remove", "-a": "every", "--all": "every",
    "-v": "", "--verbose": "", "-f": "", "--force": "", "--first-time": "", "-i": "",
    "--ignore-install": "", "--ignore-remove": "",
}  # fmt: skip


class Refused(Exception):  # noqa: N818  (what kmod says, not what went wrong here)
    """What the program says before it ends with exit code 1."""


@dataclass
class Call:
    """One call of a program."""

    program: str
    flags: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)

    def has(self, flag: str) -> bool:
        """Say whether an option was given."""
        return flag in self.flags

    @property
    def removes(self) -> bool:
        """Whether modules are to be taken out."""
        return self.program == "rmmod" or self.has("remove")


def main(argv: list[str] | None = None) -> int:
    """Run the program whose name is the first argument."""
    program, *words = sys.argv if argv is None else argv
    name = Path(program).name
    if name == "lsmod":
        return _list()
    try:
        call = _parse(name, words)
    except Refused as error:
        return _complain(name, error)
    if call.has("version"):
        os.execv(f"/usr/sbin/{name}.distrib", [name, "--version"])  # noqa: S606
    return max(_one(call, word, given) for word, given in _jobs(call))


def _parse(program: str, words: list[str]) -> Call:
    """Read options and words. Raises Refused."""
    call = Call(program, words=list(words))
    while call.words and call.words[0].startswith("-"):
        word = call.words.pop(0)
        if word == "--":
            break
        if word.startswith("--set-version=") or word in ("-S", "--set-version"):
            # Maintainer scripts ask about another kernel (initramfs): the modules are the same.
            del call.words[: "=" not in word]
        else:
            call.flags |= _flags(word)
    if not call.words and not call.has("version"):
        raise Refused("ERROR: missing parameters. See -h.")
    return call


def _flags(word: str) -> set[str]:
    if word in ("-V", "--version"):
        return {"version"}
    letters = [word] if word.startswith("--") else [f"-{letter}" for letter in word[1:]]
    unknown = [one for one in letters if one not in _FLAGS]
    if unknown:
        raise Refused(f"option {unknown[0]} is not known to the lab's stand-in")
    return {_FLAGS[one] for one in letters}


def _jobs(call: Call) -> list[tuple[str, dict[str, str]]]:
    """Return each module with its parameters: without -a, these follow the first name."""
    if call.removes or call.has("every"):
        return [(word, {}) for word in call.words]
    first, *rest = call.words
    pairs = (word.partition("=") for word in rest)
    return [(first, {key: value for key, _equals, value in pairs})]


def _one(call: Call, word: str, given: dict[str, str]) -> int:
    try:
        if call.removes:
            _unload(call, word)
        else:
            _load(call, word, given)
    except Refused as error:
        return 1 if call.has("quiet") else _complain(call.program, error)
    return 0


def _complain(program: str, error: Refused) -> int:
    sys.stderr.write(f"{program}: {error}\n")
    return 1


def _list() -> int:
    sys.stdout.write("Module                  Size  Used by\n")
    for line in loaded.lines():
        name, size, count, by = line.split()[:4]
        sys.stdout.write(f"{name:<19} {size:>8}  {count} {by.strip('-,')}".rstrip() + "\n")
    return 0


def _load(call: Call, asked: str, given: dict[str, str]) -> None:
    name = normal(asked)
    if name in loaded.names() or loaded.is_builtin(name):
        return
    if call.has("blacklist") and files.is_blacklisted(name):
        return
    module = files.find(name)
    if module is None:
        raise Refused(f"FATAL: Module {asked} not found in directory /lib/modules/{release()}")
    if not call.has("dry"):
        _insert(call, module, given)


def _insert(call: Call, module: Module, given: dict[str, str]) -> None:
    name = module.name
    if module.vermagic and module.vermagic.split()[0] != release():
        raise Refused(f"ERROR: could not insert '{name}': Exec format error")
    for other in module.depends:
        if files.find(other) is not None:
            _load(call, other, {})
    try:
        nvidia.check(module)
    except nvidia.RefusedError as error:
        raise Refused(f"ERROR: could not insert '{name}': {error}") from error
    parameters = {**files.options(name), **given}
    loaded.add(module, parameters)
    nvidia.loaded(module, parameters)


def _unload(call: Call, asked: str) -> None:
    name = normal(asked)
    if loaded.is_builtin(name):
        raise Refused(f"FATAL: Module {asked} is builtin.")
    if name not in loaded.names():
        _missing(call, asked)
        return
    users = loaded.users(name)
    if users or nvidia.busy(name):
        raise Refused(_in_use(call, name, users))
    if call.has("dry"):
        return
    used = loaded.uses(name)
    loaded.remove(name)
    nvidia.unloaded(name)
    # modprobe -r takes what nobody needs any more with it.
    for other in used if call.program == "modprobe" else ():
        if not loaded.users(other) and not nvidia.busy(other):
            _unload(call, other)


def _missing(call: Call, asked: str) -> None:
    if call.program == "rmmod":
        raise Refused(f"ERROR: Module {normal(asked)} is not currently loaded")
    if files.find(normal(asked)) is None:
        raise Refused(f"FATAL: Module {asked} not found.")


def _in_use(call: Call, name: str, users: list[str]) -> str:
    if call.program == "modprobe":
        return f"FATAL: Module {name} is in use."
    by = f" by: {' '.join(users)}" if users else ""
    return f"ERROR: Module {name} is in use{by}"
