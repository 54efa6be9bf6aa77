"""The command line of nvidia-smi, as far as the stand-in knows it."""

from __future__ import annotations

from dataclasses import dataclass, field

_FLAGS = {
    "-h": "help", "--help": "help", "--version": "version", "-L": "list", "--list-gpus": "list",
    "-q": "query", "--query": "query", "-a": "query", "-x": "xml", "--xml-format": "xml",
    "-r": "reset", "--gpu-reset": "reset", "-rgc": "reset_graphics",
    "--reset-gpu-clocks": "reset_graphics", "-rmc": "reset_memory",
    "--reset-memory-clocks": "reset_memory", "--help-query-gpu": "help_query_gpu",
    "-eow": "", "--error-on-warning": "", "-u": "", "--unit": "",
}  # fmt: skip
_VALUES = {
    "-i": "id", "--id": "id", "-d": "display", "--display": "display", "-f": "file",
    "--filename": "file", "--format": "format", "--query-gpu": "query_gpu",
    "--query-compute-apps": "query_apps", "-pm": "persistence",
    "--persistence-mode": "persistence", "-pl": "power_limit", "--power-limit": "power_limit",
    "-lgc": "lock_graphics", "--lock-gpu-clocks": "lock_graphics", "-lmc": "lock_memory",
    "--lock-memory-clocks": "lock_memory", "-mig": "mig", "--multi-instance-gpu": "mig",
    "-e": "ecc", "--ecc-config": "ecc", "-c": "compute", "--compute-mode": "compute",
    "-p": "clear_ecc", "--reset-ecc-errors": "clear_ecc",
}  # fmt: skip
CHANGES = (
    "persistence", "power_limit", "lock_graphics", "reset_graphics", "lock_memory",
    "reset_memory", "mig", "ecc", "compute", "clear_ecc", "reset",
)  # fmt: skip


class UsageError(Exception):
    """The command line cannot be understood; the text is what the program says."""


@dataclass
class Options:
    """What was asked for: names of _FLAGS and _VALUES."""

    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)  # of topo and nvlink

    @property
    def changes(self) -> list[str]:
        """Return what is to be changed, in a fixed order."""
        return [name for name in CHANGES if name in self.flags or name in self.values]

    def listed(self, name: str) -> list[str]:
        """Return the parts of a value with commas."""
        return [part.strip() for part in self.values.get(name, "").split(",") if part.strip()]


def parse(words: list[str]) -> Options:
    """Read the command line. Raises UsageError."""
    options = Options()
    rest = list(words)
    if rest and rest[0] in ("topo", "nvlink"):
        options.words = [rest.pop(0)]
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if options.words and name not in ("-i", "--id"):
            options.words += [name, value] if equals else [word]
        elif name in _FLAGS and not equals:
            options.flags.add(_FLAGS[name])
        elif name in _VALUES:
            if not equals and not rest:
                raise UsageError(f"Option {name} needs a value. Please run 'nvidia-smi -h'.")
            options.values[_VALUES[name]] = value if equals else rest.pop(0)
        else:
            raise UsageError(
                f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n"
                f"\nERROR: Option {word} is not recognized. Please run 'nvidia-smi -h'."
            )
    return options
