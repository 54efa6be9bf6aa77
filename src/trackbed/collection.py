"""Find the collection that belongs to this package, and make Ansible use it and no other.

Imported before anything from `ansible_collections`: Ansible reads its paths at
import and serves collections only after `init_plugin_loader()`.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

_RELATIVE = Path("ansible_collections/trackbed/cluster")


class CollectionError(Exception):
    """The collection is missing, or another copy of it would be used (exit code 2)."""


def collections_dir() -> Path:
    """Return the directory that holds `ansible_collections/` of this very package.

    A wheel lies beside it in site-packages; a checkout has it under collections/.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package.parent, package.parents[1] / "collections"):
        if (candidate / _RELATIVE / "galaxy.yml").is_file():
            return candidate
    raise CollectionError(
        f"the collection trackbed.cluster is not beside {package}; reinstall trackbed"
    )


@cache
def version() -> str:
    """Return the version: galaxy.yml is its only source."""
    text = (collections_dir() / _RELATIVE / "galaxy.yml").read_text(encoding="utf-8")
    found = re.search(r"(?m)^version: (\S+)$", text)
    if found is None:
        raise CollectionError("galaxy.yml of trackbed.cluster holds no version; reinstall trackbed")
    return found.group(1)


def search_path() -> str:
    """Return ANSIBLE_COLLECTIONS_PATH with our own collection first, the user's others after."""
    users = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")
    rest = users or "~/.ansible/collections:/usr/share/ansible/collections"
    mine = str(collections_dir())
    return ":".join([mine, *[part for part in rest.split(":") if part and part != mine]])


def activate() -> None:
    """Make this process import our own collection; refuse to go on with another copy."""
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = search_path()
    # Not at the top: Ansible reads the environment when it is imported.
    from ansible.plugins.loader import init_plugin_loader  # noqa: PLC0415
    from ansible.utils.collection_loader import AnsibleCollectionConfig  # noqa: PLC0415

    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader()
    import ansible_collections.trackbed.cluster.plugins as loaded  # noqa: PLC0415

    refuse_other_copy([Path(entry) for entry in loaded.__path__])


def refuse_other_copy(loaded: list[Path]) -> None:
    """Raise CollectionError where the loaded plugins are not those of this package."""
    mine = (collections_dir() / _RELATIVE / "plugins").resolve()
    others = [entry for entry in loaded if entry.resolve() != mine]
    if others:
        raise CollectionError(
            f"trackbed {version()} would run with the collection trackbed.cluster in "
            f"{others[0].parent}, but its own is in {mine.parent}; remove the other copy, or take "
            "it out of ANSIBLE_COLLECTIONS_PATH"
        )
