"""Make `ansible_collections.*` importable before any test module is collected."""

from __future__ import annotations

import os
from pathlib import Path

# The checkout's own collection must win over a copy in a home directory, and
# Ansible reads its configuration at import.
ROOT = Path(__file__).resolve().parent.parent
os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(ROOT / "collections")
os.environ["ANSIBLE_CONFIG"] = str(ROOT / "ansible.cfg")

from ansible.plugins.loader import init_plugin_loader  # noqa: E402

# At import, not in a fixture: the tests' own imports come right after.
init_plugin_loader()
