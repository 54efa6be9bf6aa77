"""The control files of a Debian package. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath

from trackbed.lab.packages.model import Package
from trackbed.lab.packages.tree import Tree

MAINTAINER = "The Trackbed developers <lab@trackbed.invalid>"
_ENDS_DKMS = """\
    if [ -x /usr/lib/dkms/common.postinst ]; then
        /usr/lib/dkms/common.postinst {module} {version} /usr/share/{module} "" "$2"
    fi
"""
_RELOAD = "    [ ! -d /run/systemd/system ] || systemctl daemon-reload || true\n"


def control(package: Package, architecture: str) -> str:
    """Return the file `control`."""
    exact = [f"{name} (= {package.full_version})" for name in package.exact]
    fields = {
        "Package": package.name,
        "Version": package.full_version,
        "Architecture": architecture,
        "Maintainer": MAINTAINER,
        "Section": "non-free/libs",
        "Priority": "optional",
        "Depends": ", ".join([*exact, *package.depends]),
        "Conflicts": ", ".join(package.conflicts),
        "Description": package.summary + "\n A stand-in of the lab under the vendor's name.",
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items() if value)


def scripts(package: Package, tree: Tree) -> dict[str, str]:
    """Return the maintainer scripts and the other control files that a package needs, by name."""
    found: dict[str, str] = {}
    units = [path.name for path in tree if path.parts[:3] == ("lib", "systemd", "system")]
    configured = _RELOAD if units else ""
    before_removal = ""
    if package.dkms:
        module, version = package.dkms.module, package.dkms.version
        configured += _ENDS_DKMS.format(module=module, version=version)
        before_removal += (
            f"[ ! -x /usr/sbin/dkms ] || dkms remove -m {module} -v {version} --all || true\n"
        )
    if units:
        stop = f"deb-systemd-invoke stop {' '.join(units)} || true"
        before_removal += f'[ "$1" != remove ] || [ ! -d /run/systemd/system ] || {stop}\n'
    if configured:
        found["postinst"] = f'#!/bin/sh\nset -e\nif [ "$1" = configure ]; then\n{configured}fi\n'
    if before_removal:
        found["prerm"] = f"#!/bin/sh\nset -e\n{before_removal}"
    if package.libraries:
        found["triggers"] = "activate-noawait ldconfig\n"
    settings = conffiles(tree)
    if settings:
        found["conffiles"] = "".join(f"/{path}\n" for path in settings)
    return found


def conffiles(tree: Tree) -> list[PurePosixPath]:
    """Return what an administrator may edit: everything below /etc."""
    return sorted(path for path in tree if path.parts[0] == "etc")
