"""The spec file of an RPM package, and the module streams of its repository. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trackbed.lab.packages.deb import conffiles
from trackbed.lab.packages.model import Package
from trackbed.lab.packages.tree import Tree

_HEAD = """\
Name: {name}
Version: {version}
Release: {release}
{epoch}Summary: {summary}
License: GPL-3.0-or-later
BuildArch: {architecture}
AutoReqProv: no
{relations}
%description
{summary}. A stand-in of the lab under the vendor's name.

%install
mkdir -p %{{buildroot}}
cp -a {stage}/. %{{buildroot}}/
"""
_DKMS_POST = """\
%post
dkms add -m {module} -v {version} --rpm_safe_upgrade || :
dkms build -m {module} -v {version} || exit 1
dkms install -m {module} -v {version} --force || exit 1

%preun
dkms remove -m {module} -v {version} --all --rpm_safe_upgrade || :
"""


def numbers(package: Package) -> tuple[str, str]:
    """Return version and release as RPM splits them: no hyphen in either."""
    version, _, rest = f"{package.version}{package.release}".partition("-")
    return version, rest


def spec(package: Package, tree: Tree, architecture: str, stage: str) -> str:
    """Return the spec; the files are copied from the directory `stage`."""
    version, release = numbers(package)
    epoch = f"{package.epoch}:" if package.epoch else ""
    relations = [f"Requires: {name} = {epoch}{version}-{release}" for name in package.exact]
    relations += [f"Requires: {name}" for name in package.depends]
    relations += [f"Conflicts: {name}" for name in package.conflicts]
    head = _HEAD.format(
        name=package.name,
        version=version,
        release=release,
        epoch=f"Epoch: {package.epoch}\n" if package.epoch else "",
        summary=package.summary,
        architecture=architecture,
        relations="".join(f"{line}\n" for line in relations),
        stage=stage,
    )
    return head + _post(package) + _files(package, tree)


def _post(package: Package) -> str:
    if package.dkms:
        return "\n" + _DKMS_POST.format(module=package.dkms.module, version=package.dkms.version)
    return "\n%post -p /sbin/ldconfig\n" if package.libraries else ""


def _files(package: Package, tree: Tree) -> str:
    settings = set(conffiles(tree))
    lines = [f"{'%config(noreplace) ' if path in settings else ''}/{path}" for path in sorted(tree)]
    for file in package.libraries.values():
        lines.append(f"/usr/lib64/{file}")
    return "\n%files\n" + "".join(f"{line}\n" for line in lines)


def streams(packages: Iterable[Package], architecture: str) -> list[dict[str, Any]]:
    """Return the documents of modules.yaml: the streams of the module nvidia-driver.

    Source: NVIDIA/yum-packaging-nvidia-driver; `BR-open` and `open-dkms` are what the installation
    guide names for open modules, `BR-dkms` and `latest-dkms` for proprietary ones.
    """
    mine = [one for one in packages if one.repository == "cuda" and one.epoch == 3]
    branches = sorted({one.words["BRANCH"] for one in mine})
    newest = branches[-1]
    wanted = [(f"{branch}-open", branch) for branch in branches]
    wanted += [(f"{branch}-dkms", branch) for branch in branches]
    wanted += [("open-dkms", newest), ("latest-dkms", newest)]
    return [_stream(name, branch, mine, architecture) for name, branch in wanted]


def _stream(
    name: str, branch: str, packages: Iterable[Package], architecture: str
) -> dict[str, Any]:
    other = "kmod-nvidia-latest-dkms" if "open" in name else "kmod-nvidia-open-dkms"
    listed = [one for one in packages if one.words["BRANCH"] == branch and one.name != other]
    kernel = "kmod-nvidia-open-dkms" if "open" in name else "kmod-nvidia-latest-dkms"
    names = sorted({one.name for one in listed if not one.exact or one.name == kernel})
    return {
        "document": "modulemd",
        "version": 2,
        "data": {
            "name": "nvidia-driver",
            "stream": name,
            "version": int(branch) * 1000,
            "context": "cafe0001",
            "arch": architecture,
            "summary": f"NVIDIA driver, {name}",
            "description": f"NVIDIA driver packages of branch {branch}",
            "license": {"module": ["MIT"]},
            "profiles": {
                "default": {"rpms": [*names]},
                "fm": {"rpms": [one for one in names if "fabric" in one]},
            },
            "artifacts": {"rpms": [_nevra(one, architecture) for one in listed]},
        },
    }


def _nevra(package: Package, architecture: str) -> str:
    version, release = numbers(package)
    return f"{package.name}-{package.epoch}:{version}-{release}.{architecture}"
