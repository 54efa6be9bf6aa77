"""The lab's images: named by what they are made of, built where they are missing.

The base is the ordinary Debian image of a registry; where no registry answers it is made from this
machine's own, signed Debian mirror. Everything else is the same recipe (see recipes.py).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trackbed.errors import TrackbedError
from trackbed.lab.command import CommandError, Runner, run
from trackbed.lab.engine import PODMAN, Engine
from trackbed.lab.recipes import Recipe
from trackbed.lab.spec import SYSTEMS

LABEL = "trackbed.image"
# Debian's images in the registry that engines ask by default, and what names others.
_OWN_BASES = {"node": "TRACKBED_LAB_BASE", "head": "TRACKBED_LAB_HEAD_BASE"}
_BASES = {
    "debian12": "docker.io/library/debian:12-slim",
    "debian13": "docker.io/library/debian:13-slim",
}
_ASK_SECONDS = 20.0
_PULL_SECONDS = 600.0
_BUILD_SECONDS = 1200.0
_DEBIAN = re.compile(r"/debian(-security)?/?$")


@dataclass(frozen=True)
class Image:
    """An image that is there now, and how it came."""

    name: str
    how: str


def ensure(
    engine: Engine,
    recipe: Recipe,
    say: Callable[[str], None],
    *,
    environ: Mapping[str, str] = os.environ,
    runner: Runner = run,
) -> Image:
    """Return the image of a recipe, built if it is not there."""
    name, kind = recipe.name, recipe.kind
    if _exists(engine, name):
        return Image(name, "already there")
    own = environ.get(_OWN_BASES[recipe.kind], "")
    base, how = _base(engine, recipe.system, own, say, runner)
    say(f"building the {kind} image ({recipe.system}, {how}); this is done once")
    with tempfile.TemporaryDirectory(prefix="trackbed-lab-") as place:
        recipe.write(Path(place))
        argv = build_argv(recipe, base, Path(place), chroot=_chroot(engine))
        engine.call(f"building the {kind} image", argv, _BUILD_SECONDS)
    return Image(name, how)


def build_argv(recipe: Recipe, base: str, context: Path, *, chroot: bool) -> list[str]:
    """Return the arguments that build an image from its context."""
    return [
        "build",
        *(["--isolation=chroot"] if chroot else []),
        f"--label={LABEL}={recipe.kind}",
        f"--build-arg=BASE={base}",
        f"--file={context / 'Containerfile'}",
        f"--tag={recipe.name}",
        str(context),
    ]


def remove_all(engine: Engine) -> list[str]:
    """Remove every image that the lab has made; return their names."""
    shown = "{{.Repository}}:{{.Tag}}"
    argv = ["image", "ls", "--filter", f"label={LABEL}", "--format", shown]
    names = [name for name in engine.call("listing images", argv).split() if "<none>" not in name]
    if names:
        engine.call("removing images", ["image", "rm", *names], _PULL_SECONDS)
    return names


def _chroot(engine: Engine) -> bool:
    # Builds have no `--runtime` that would do: buildah must not start a container at all.
    return engine.kind == PODMAN and engine.limits.needs_wrapped_runtime


def _exists(engine: Engine, name: str) -> bool:
    return engine.attempt(["image", "inspect", "--format", "{{.Id}}", name]).ok


def _base(
    engine: Engine,
    system: str,
    own: str,
    say: Callable[[str], None],
    runner: Runner,
) -> tuple[str, str]:
    """Return the name of the base image and how it came; `own` is one that the user named."""
    remote = own or _BASES[system]
    if _exists(engine, remote):
        return remote, f"on {remote}"
    # The manifest is small: where that does not come soon, the image will not either.
    asked = engine.attempt(["manifest", "inspect", remote], _ASK_SECONDS)
    if asked.ok:
        say(f"fetching {remote}")
        engine.call(f"fetching {remote}", ["pull", "--quiet", remote], _PULL_SECONDS)
        return remote, f"on {remote}"
    local = f"localhost/trackbed-lab-base:{SYSTEMS[system]}"
    if not _exists(engine, local):
        say(f"no registry answers for {remote} ({asked.last_words.splitlines()[-1][:120]})")
        _bootstrap(engine, SYSTEMS[system], local, say, runner)
    return local, "on a base from this machine's Debian mirror"


def _bootstrap(
    engine: Engine, suite: str, name: str, say: Callable[[str], None], runner: Runner
) -> None:
    if shutil.which("mmdebstrap") is None:
        raise TrackbedError(
            "no image registry answers, and mmdebstrap is not installed",
            wanted="a base image from a registry, or one made from a Debian mirror",
            remedy="let this host reach a registry, name a base image of yours in "
            "TRACKBED_LAB_BASE, or install mmdebstrap",
        )
    say(f"making a base of {suite} from this machine's Debian mirror instead")
    with tempfile.TemporaryDirectory(prefix="trackbed-lab-") as place:
        archive = Path(place) / "base.tar"
        argv = bootstrap_argv(suite, archive, mirrors(_source_texts()))
        made = runner(argv, _BUILD_SECONDS)
        if not made.ok:
            raise CommandError(made, doing=f"making a base of {suite}")
        change = ["--change", f"LABEL {LABEL}=base"]
        engine.call("importing it", ["import", *change, str(archive), name], _PULL_SECONDS)


def bootstrap_argv(suite: str, archive: Path, found: Mapping[str, str]) -> list[str]:
    """Return the command that makes a minimal Debian; `found` is what `mirrors` returned."""
    main, security = found.get("main"), found.get("security")
    lines = [f"deb {main} {suite} main", f"deb {main} {suite}-updates main"] if main else []
    lines += [f"deb {security} {suite}-security main"] if main and security else []
    # Without lines mmdebstrap takes Debian's own mirrors. It checks signatures in any case.
    include = "--include=ca-certificates"
    return ["mmdebstrap", "--quiet", "--variant=minbase", include, suite, str(archive), *lines]


def mirrors(sources: Iterable[str]) -> dict[str, str]:
    """Return the `main` and `security` mirrors of Debian in these apt source files."""
    found: dict[str, str] = {}
    for text in sources:
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if not words or words[0] not in ("deb", "URIs:"):
                continue
            for word in words:
                match = _DEBIAN.search(word) if "://" in word else None
                if match:
                    found.setdefault("security" if match.group(1) else "main", word.rstrip("/"))
    return found


def _source_texts(etc: Path = Path("/etc/apt")) -> list[str]:
    paths = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()]
