# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of what dnf 4, dnf 5 and yum 3 print. Private to trackbed.cluster."""

from __future__ import annotations

import re

# Title of a group of the transaction -> what is done to its packages.
GROUPS = {
    "installing": "install",
    "installing dependencies": "install",
    "installing weak dependencies": "install",
    "installing for dependencies": "install",
    "installing for group": "install",
    "installing groups": "group",
    "upgrading": "upgrade",
    "updating": "upgrade",
    "updating for dependencies": "upgrade",
    "upgrading dependencies": "upgrade",
    "reinstalling": "reinstall",
    "downgrading": "downgrade",
    "removing": "remove",
    "removing dependent packages": "remove",
    "removing unused dependencies": "remove",
    "removing for dependencies": "remove",
    "replacing": "remove",
    "enabling module streams": "module",
    "disabling modules": "module",
    "resetting modules": "module",
    "switching module streams": "module",
    "skipping packages with conflicts": "skip",
    "skipping packages with broken dependencies": "skip",
    "skipping packages with broken dependencies from an update": "skip",
}
ACTIONS = ("install", "upgrade", "reinstall", "downgrade", "remove", "skip")
# Word of the summary, or of the history -> the same.
SUMMARY = {
    "install": "install",
    "installing": "install",
    "upgrade": "upgrade",
    "upgrading": "upgrade",
    "reinstall": "reinstall",
    "reinstalling": "reinstall",
    "downgrade": "downgrade",
    "downgrading": "downgrade",
    "remove": "remove",
    "removing": "remove",
    "erase": "remove",
    "removed": "remove",
    "skip": "skip",
    "skipping": "skip",
    "skipped": "skip",
    "dep-install": "install",
    "update": "upgrade",
    "updated": "upgrade",
}
ARCHITECTURES = r"(?:x86_64|aarch64|noarch|i[3-6]86|ppc64le|s390x|src|riscv64)"
# ` name  arch  version  repository  size unit`; the name may stand in a line of its own.
PACKAGE = re.compile(
    rf"^ *(?:([A-Za-z0-9_.+-]{{1,200}}) +)?({ARCHITECTURES}) +(\S{{1,100}}) +(@?\S{{1,100}})"
    r"(?: +([0-9.]{1,12} *(?:[kKMGT]?i?B?|B)))? *$"
)
LONG_NAME = re.compile(r"^ {1,4}([A-Za-z0-9_.+-]{1,200})$")
REPLACED = re.compile(r"^ {2,}replacing +(\S{1,200})(?: |$)")
GROUP = re.compile(r"^([A-Z][A-Za-z ]{3,70}):$")
COUNT = re.compile(
    r"^ ?([A-Za-z]{4,14}):? +([0-9]{1,6}) [Pp]ackages?(?: \(\+ ?([0-9]{1,6})[ A-Za-z]{1,40}\))?$"
)
HISTORY_HEAD = re.compile(r"^ *ID +\|? ?(?:Command line|Login user) ")
HISTORY = re.compile(
    r"^ *([0-9]{1,9}) (?:\| )?(.{0,200}?) *\|? *"
    r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
    r" *\|? *([A-Za-z, ]{0,60}?) *\|? +([0-9]{1,7}) ?([A-Zs<>*# ]{0,8})$"
)
INFO_ID = re.compile(r"^Transaction ID +: ([0-9]{1,9})(?:\.\.[0-9]{1,9})?$")
INFO = re.compile(r"^([A-Z][A-Za-z -]{2,24}?) *:(?: (.*))?$")
ALTERED = re.compile(
    r"^ +\*{0,2} *([A-Za-z-]{4,12}) +(\S{1,200}?)-((?:[0-9]+:)?[^\s-]{1,60}-[^\s-]{1,60})"
    rf"\.({ARCHITECTURES})(?: .*)?$"
)
NOT_FOUND = re.compile(
    r"^(?:Error: )?(?:No match for argument: |Unable to find a match: |No package (?=\S+ available)"
    r"|No packages? matched?(?: for argument)?:? )(.{1,300}?)(?: available\.?)?$"
)
FILTERED = re.compile(
    r"^All matches were filtered out by (\w+) filtering for argument: (\S{1,200})$"
)
PROBLEM = re.compile(r"^ *(?:Problem(?: [0-9]{1,4})?: |- |file /\S+ .*conflicts )")


def _starts(*words: str) -> re.Pattern[str]:
    return re.compile(f"^(?:{'|'.join(words)})")


ERROR = _starts(
    "Error: ?",
    "Error$",
    "Errors during downloading",
    "Failed to (?:download|resolve|synchronize|parse|obtain)",
    "Failed loading",
    "Transaction (?:failed|check error|test error)",
    "RPM: error",
    "error: ",
    "Curl error",
    "Cannot (?:download|open)",
    "GPG check FAILED",
    "Public key for .* is not installed",
    "This command has to be run",
    "The requested operation requires superuser",
    "Modular dependency problem",
    "Problem[: ]",
    "No space left on device",
)
# Progress and talk that says nothing about the result.
TALK = _starts(
    "Last metadata",
    "Updating Subscription",
    "Updating and loading",
    "Repositories loaded",
    "Loaded plugins",
    "Loading mirror",
    "Dependencies [Rr]esolved",
    "Resolving Dependencies",
    "--> |---> ",
    "=+$|-+$",
    "Package +(?:Arch|Architecture)\\b",
    "Package {2,}",
    "Transaction Summary",
    "Total (?:download )?size",
    "Total +[0-9|]",
    "Installed size",
    "Freed space",
    "Is this ok",
    "Downloading [Pp]ackages",
    "Delta RPMs",
    "\\([0-9]+/[0-9]+\\): |\\[ *[0-9]+/[0-9]+\\] ",
    ".{1,80} [kKMG]?i?B/s ",
    "Running (?:transaction|scriptlet)",
    "Transaction (?:check|test) succeeded",
    "Preparing |Verify |Scriptlet output",
    "(?:Installing|Upgrading|Updating|Cleanup|Erasing|Removing|Obsoleting|Verifying) +: ",
    "(?:Reinstalling|Downgrading) +: ",
    "Need to download",
    "After this operation",
    "Complete!",
    "Package \\S+ is already",
    "Nothing to do",
    "Operation aborted",
    "Operation has been cancelled",
    "Importing GPG key|Key imported| +Userid| +Fingerprint| +From",
    "[Ww]arning: ",
    "Installed products updated",
    ">>> ",
    "\\(try to add|\\(add '|You can try",
    "Packages Altered:",
    "  +[0-9]+ ",
    "Skipped:",
    "Red Hat ",
    "Waiting for process",
)
# What was done, as lists of packages below a title.
DONE = re.compile(
    "^(?:Installed|Upgraded|Updated|Removed|Downgraded|Reinstalled|Failed|Skipped|Replaced"
    "|Dependency (?:Installed|Updated|Removed)):$"
)
_SAYS = _starts(
    "Last metadata expiration check: ",
    "Error: Unable to find a match: ",
    "No match for argument: ",
    "All matches were filtered out by ",
    "Error: Failed to download metadata for repo ",
    "Errors during downloading metadata for repository ",
    "Failed to resolve the transaction:",
    "Error: Transaction test error:",
    "Transaction check error:",
    "Dependencies [Rr]esolved\\.?$",
)
# Pattern -> how surely a text that has it is dnf's.
SIGNS = (
    (re.compile(r"(?m)^ *ID +\|? ?(?:Command line|Login user) .*Altere"), 96),
    (re.compile(r"(?m)^ ?Package +Arch(?:itecture)? +Version +Repo"), 95),
    (re.compile(r"(?m)^Transaction Summary:?$"), 95),
    (re.compile(r"(?m)^Transaction ID +: [0-9]"), 95),
    (re.compile(_SAYS.pattern, re.MULTILINE), 92),
    (re.compile(r"(?m)^(?:Error: ?\n)? *Problem(?: 1)?: .*\n {2,}- "), 88),
)
