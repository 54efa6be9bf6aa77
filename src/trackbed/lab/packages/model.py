"""The nouns of the lab's packages. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DEBIAN, UBUNTU, RPM = "debian", "ubuntu", "rpm"
FAMILIES = (DEBIAN, UBUNTU, RPM)


@dataclass(frozen=True)
class Dkms:
    """A DKMS source that the package brings, and that its scripts build and remove."""

    module: str
    version: str


@dataclass(frozen=True)
class Package:
    """One package of one version, for one family of distributions."""

    family: str
    name: str
    version: str  # the upstream version: 580.126.09
    release: str  # what the family puts behind it: -1, -1ubuntu1, -1.el9
    epoch: int  # 0: none
    repository: str  # the path below the head's web root: cuda, libnvidia-container, doca
    summary: str
    exact: tuple[str, ...] = ()  # names that must have the very same version
    depends: tuple[str, ...] = ()  # names of any version
    conflicts: tuple[str, ...] = ()
    payload: tuple[str, ...] = ()  # directories of payload/, the later one on top
    libraries: Mapping[str, str] = field(default_factory=dict)  # soname -> file name
    links: Mapping[str, str] = field(default_factory=dict)  # path below the root -> target
    dkms: Dkms | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # what placeholders stand for

    @property
    def full_version(self) -> str:
        """Return epoch, version and release, as the family writes them."""
        epoch = f"{self.epoch}:" if self.epoch else ""
        return f"{epoch}{self.version}{self.release}"

    @property
    def file_stem(self) -> str:
        """Return what the package's file is called by, without architecture and ending."""
        joint = "-" if self.family == RPM else "_"
        return f"{self.name}{joint}{self.version}{self.release}"


def filled(text: str, words: Mapping[str, str]) -> str:
    """Replace every @WORD@ of a text; a word that nobody knows is left as it is."""
    for word, meaning in words.items():
        text = text.replace(f"@{word}@", meaning)
    return text
