"""Which packages the lab's repositories hold: from the data files to `Package` objects. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trackbed.lab.packages.model import DEBIAN, FAMILIES, RPM, UBUNTU, Dkms, Package, filled

_HERE = Path(__file__).resolve().parent
_PACKAGE_KEYS = frozenset(
    [
        "names",
        "summary",
        "payload",
        "libraries",
        "libraries_of",
        "dkms",
        "needs",
        "also",
        "conflicts",
        "until",
        "links",
        "own",
    ]
)
_SET_KEYS = frozenset({"schema", "repository", "versions", "release", "epoch", "packages"})
_SUFFIX = re.compile(r"@-(\d+)@")


@cache
def packages(family: str) -> tuple[Package, ...]:
    """Return every package for a family, in the order of the data files."""
    if family not in FAMILIES:
        raise ValueError(f"{family}: not one of {', '.join(FAMILIES)}")
    driver = {"repository": "cuda", **_yaml("driver.yaml")}
    sets = {"driver": driver, **_yaml("others.yaml")["sets"]}
    return tuple(
        package
        for where, entry in sets.items()
        for version in _versions(_checked(entry, _SET_KEYS, where), family)
        for package in _set(entry, version, family)
    )


def driver_versions() -> tuple[str, ...]:
    """Return the driver versions that the repositories hold, oldest first."""
    return tuple(_yaml("driver.yaml")["versions"])


def _yaml(name: str) -> Any:
    return yaml.safe_load((_HERE / "data" / name).read_text(encoding="utf-8"))


def _checked(entry: Mapping[str, Any], known: frozenset[str], where: str) -> Mapping[str, Any]:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise ValueError(f"{where}: unknown {', '.join(unknown)}")
    return entry


def _versions(entry: Mapping[str, Any], family: str) -> list[str]:
    versions = entry["versions"]
    return list(versions[family] if isinstance(versions, Mapping) else versions)


# What the kernel calls itself: the package's version and the flavour behind it.
_FLAVOURS = {DEBIAN: "-amd64", UBUNTU: "-generic", RPM: ".el9.x86_64"}


def _words(version: str, family: str) -> dict[str, str]:
    """Return what the placeholders of names and payloads mean for a version."""
    numbers = version.split(".")
    branch = numbers[0]
    return {
        "VERSION": version,
        "UPSTREAM": version.partition("-")[0],
        "BRANCH": branch,
        "DASHED": "-".join(numbers[:2]),
        "DOTTED": ".".join(numbers[:2]),
        "KERNEL": version + _FLAVOURS[family],
        "LIBDIR": "lib64" if family == RPM else "lib/@MULTIARCH@",
        # The one name that lost a hyphen with the renames of 580 (gpu_stack.md §1.6 has the table).
        "FABRICMANAGER": "nvidia-fabric-manager" if branch < "580" else "nvidia-fabricmanager",
    }


def _set(entry: Mapping[str, Any], version: str, family: str) -> Iterator[Package]:
    words = _words(version, family)
    listed: Mapping[str, Any] = entry["packages"]
    names = {key: _name(body, family, words) for key, body in listed.items()}
    for key, body in listed.items():
        if names[key]:
            yield _package(entry, _checked(body, _PACKAGE_KEYS, key), names, key, family, words)


def _name(body: Mapping[str, Any], family: str, words: Mapping[str, str]) -> str:
    """Return the package's name in a family and version; empty where there is none."""
    template = body["names"].get(family) or body["names"].get("all") or ""
    if int(words["BRANCH"]) >= int(body.get("until", 1 << 30)):
        return ""
    return filled(_SUFFIX.sub(lambda found: _suffix(found.group(1), words), template), words)


def _suffix(since: str, words: Mapping[str, str]) -> str:
    return "" if int(words["BRANCH"]) >= int(since) else f"-{words['BRANCH']}"


def _package(
    entry: Mapping[str, Any],
    body: Mapping[str, Any],
    names: Mapping[str, str],
    key: str,
    family: str,
    words: Mapping[str, str],
) -> Package:
    links = body.get("links", {})
    libraries = {**body.get("libraries", {}), **body.get("libraries_of", {}).get(family, {})}
    # Some packages of a set have numbers of their own: version and release.
    common = (words["VERSION"], entry["release"][family])
    version, release = body.get("own", {}).get(words["VERSION"], common)
    return Package(
        family=family,
        name=names[key],
        version=version,
        release=release,
        epoch=entry.get("epoch", {}).get(family, 0),
        repository=entry["repository"],
        summary=body["summary"],
        exact=tuple(names[need] for need in body.get("needs", ()) if names[need]),
        depends=tuple(body.get("also", {}).get(family, ())),
        conflicts=tuple(names[other] for other in body.get("conflicts", ()) if names[other]),
        payload=tuple(body.get("payload", ())),
        libraries={soname: filled(file, words) for soname, file in libraries.items()},
        dkms=Dkms(body["dkms"], words["VERSION"]) if "dkms" in body else None,
        links={filled(path, words): filled(to, words) for path, to in links.items()},
        words={**words, "OWN": f"{version}{release}"},
    )
