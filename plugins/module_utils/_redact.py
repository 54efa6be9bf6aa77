# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take secrets out of what is kept as evidence. Private to trackbed.cluster."""

from __future__ import annotations

import re

REDACTED = "***"
_TOKEN = re.compile(r'(?:"[^"]*"?|[^\s"])+')
# A name that ends like one of these holds a secret, wherever in a token it is:
# `ipmi.password=`, `ds=nocloud;token=`, `https://host/?api_key=`.
_SECRET = re.compile(
    r"(?:pass(?:wd|word|phrase|code)?|pw|secret|token|credentials?|auth|psk"
    r"|api[._-]?key|private[._-]?key|[._-]key|(?<![A-Za-z])key)\"?=",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"(://)[^/\s@:]{0,200}:[^/\s@]{0,200}@")
_OPTION = re.compile(
    r"^--?(?:\w+[_-])?(?:pass(?:wd|word|phrase)?|secret|token|key)$", re.IGNORECASE
)


def command_line(text: str) -> str:
    """Return a kernel command line without the values of passwords, tokens and keys.

    All that follows such a name in its token goes, because a password may hold
    any separator. Quoted blanks do not end a token, as in the kernel.
    """
    kept = []
    after_option = False
    for token in _TOKEN.findall(text):
        kept.append(REDACTED if after_option and not token.startswith("-") else _token(token))
        after_option = _OPTION.match(token) is not None
    return " ".join(kept)


def _token(token: str) -> str:
    found = _SECRET.search(token)
    if found and len(token) > found.end():
        token = token[: found.end()] + REDACTED
    return _USER_IN_URL.sub(rf"\1{REDACTED}@", token)
