# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mokutil --sb-state`: whether Secure Boot is on."""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    NOT_APPLICABLE,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "mokutil"
TITLE = "Secure Boot by mokutil --sb-state"
VERSIONS = "mokutil 0.3 to 0.7"
SOURCES = ("https://github.com/lcp/mokutil",)
PROVEN = True
FIELDS = {
    "node": {
        "secure_boot": Field(bool, "Secure Boot is on; null where there is no UEFI"),
        "setup_mode": Field(bool, "the platform is in setup mode: keys are not enrolled"),
        "shim_validation": Field(bool, "shim checks signatures"),
    }
}
_STATE = re.compile(r"(?m)^SecureBoot (enabled|disabled)\s*$")
_NO_UEFI = re.compile(r"(?m)^(?:EFI variables are not supported|This system doesn't support)")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 95 if len(text) < 1000 and (_STATE.search(text) or _NO_UEFI.search(text)) else 0


def read(data: Data) -> Reading:
    """Read one output; entity ""."""
    reading = Reading(KIND)
    text = decode(data)
    found = _STATE.search(text)
    if found:
        node = reading.add(Entity("", values={"secure_boot": found.group(1) == "enabled"}))
        node.values["setup_mode"] = "Setup Mode" in text
        node.values["shim_validation"] = "validation is disabled in shim" not in text
        if len(_STATE.findall(text)) > 1 and len(set(_STATE.findall(text))) > 1:
            reading.note("inconsistent", "it says both enabled and disabled")
    elif _NO_UEFI.search(text):
        reading.add(Entity("", values={"secure_boot": None}))
        reading.note("missing_value", "no UEFI, hence no Secure Boot", verbatim=text.strip())
        reading.quality = NOT_APPLICABLE
    else:
        reading.note("other_format", "no line `SecureBoot enabled` or `disabled`")
        reading.quality = UNREADABLE
    return reading
