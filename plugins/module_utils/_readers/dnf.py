# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of what dnf and yum print: a transaction, its refusal, `history` and `history info`.

Format: groups of packages (`Installing:`) with `name arch version repository size`, a summary,
`Complete!`; `Error:` and `Problem:` where it cannot be done; rows and blocks of the history.
Versions: yum 3.4, dnf 4, dnf 5. Source: dnf(8), dnf5(8), dnf5-history(8).
"""

from __future__ import annotations

import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dnf_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dnf"
TITLE = "Transactions, refusals and history of dnf and yum"
VERSIONS = "yum 3.4, dnf 4 and 5"
SOURCES = (
    "https://github.com/NVIDIA/yum-packaging-precompiled-kmod/issues/50",
    "https://github.com/NVIDIA/yum-packaging-fabric-manager/issues/4",
    "https://github.com/negativo17/nvidia-driver/issues/162",
    "https://github.com/terrapkg/packages/issues/14993",
    "https://docs.fedoraproject.org/en-US/Fedora/23/html/System_Administrators_Guide/"
    "sec-DNF-Transaction_History.html",
)
PROVEN = True
RESULTS = ("complete", "nothing_to_do", "aborted", "failed", "asked")
FIELDS = {
    "node": {
        "result": Field(
            str,
            "how it ended; asked: the transaction was shown, and its end is not told",
            values=RESULTS,
        ),
        "install_count": Field(int, "packages to install, by the summary"),
        "upgrade_count": Field(int, "packages to upgrade, by the summary"),
        "reinstall_count": Field(int, "packages to reinstall, by the summary"),
        "downgrade_count": Field(int, "packages to downgrade, by the summary"),
        "remove_count": Field(int, "packages to remove, by the summary"),
        "skip_count": Field(int, "packages that are skipped, by the summary"),
        "missing_packages": Field(list, "asked for and not found"),
        "filtered_packages": Field(list, "hidden by module streams or excludes"),
        "errors": Field(list, "dnf's errors, as printed"),
        "conflicts": Field(list, "why it cannot be done, as printed"),
        "transaction_count": Field(int, "transactions of the history"),
    },
    "package": {
        "name": Field(str, "name"),
        "action": Field(str, "what is done to it", values=_dnf_text.ACTIONS),
        "version": Field(str, "epoch, version and release"),
        "architecture": Field(str, "machine, or noarch"),
        "repository": Field(str, "where it comes from"),
        "size": Field(str, "size, as printed"),
        "replaces": Field(list, "packages that it takes the place of"),
    },
    "transaction": {
        "command": Field(str, "command line; null where it is not told"),
        "time": Field(str, "when it began, as printed"),
        "actions": Field(str, "Install or I, U, E, D, R, O ..., as printed"),
        "altered_count": Field(int, "packages altered"),
        "marks": Field(str, "E output or errors, # failed, * aborted, < > changed outside"),
        "user": Field(str, "who ran it"),
        "return_code": Field(str, "Success, or how it failed"),
        "end_time": Field(str, "when it ended, as printed"),
    },
}
_LABELS = {
    "Begin time": "time",
    "End time": "end_time",
    "User": "user",
    "Return-Code": "return_code",
    "Return Code": "return_code",
    "Status": "return_code",
    "Command Line": "command",
    "Description": "command",
}
_MOST = 5000
_MOST_WORDS = 200


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    joined = _pasted.text_of(text)
    return max((certainty for sign, certainty in _dnf_text.SIGNS if sign.search(joined)), default=0)


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `package:<name>`, `transaction:<id>`."""
    dnf = _Dnf()
    for number, line in _pasted.lines(data):
        dnf.take(number, line)
    return dnf.finish()


class _Dnf:
    """Collects packages, transactions and errors."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="dnf")
        self.node = Entity("")
        self.action: str | None = None
        self.long_name: str | None = None
        self.package: Entity | None = None
        self.transaction: Entity | None = None
        self.names: dict[str, int] = {}
        self.words: dict[str, list[str]] = {}
        self.refused = self.known = self.by_user = False

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        group = _dnf_text.GROUP.match(line.strip())
        name = group.group(1).lower() if group else ""
        if name in _dnf_text.GROUPS:
            self.action, self.long_name, self.known = _dnf_text.GROUPS[name], None, True
        elif self._history(line) or self._result(line.strip()) or self._error(number, line):
            self.known = True
        elif self.action and self._row(line):
            return
        elif not (self._tail(line) or _pasted.is_noise(line)):
            _plain.malformed(self.reading, number, line, "a line of dnf")

    def _tail(self, line: str) -> bool:
        """Return whether it is talk, or of the list of what was done, or of one that goes on."""
        word = line.strip()
        if _dnf_text.DONE.match(word):
            self.action = None
            self.known = True
            return True
        return self.refused or line.startswith(" ") or bool(_dnf_text.TALK.match(word))

    def _row(self, line: str) -> bool:
        """Read a package of the transaction's table."""
        replaced, found = _dnf_text.REPLACED.match(line), _dnf_text.PACKAGE.match(line)
        if replaced and self.package is not None:
            listed = self.package.values.setdefault("replaces", [])
            if isinstance(listed, list) and len(listed) < _MOST_WORDS:
                listed.append(replaced.group(1))
            return True
        if self.action not in _dnf_text.ACTIONS:
            return line.startswith(" ")
        if found and (found.group(1) or self.long_name):
            name, architecture, version, repository, size = found.groups()
            values = {
                "name": name or self.long_name,
                "action": self.action,
                "version": version,
                "architecture": architecture,
                "repository": repository.lstrip("@"),
                "size": size.strip() if size else None,
            }
            self.package, self.long_name = self._add(values), None
            return True
        alone = _dnf_text.LONG_NAME.match(line)
        self.long_name = alone.group(1) if alone else None
        return bool(alone)

    def _add(self, values: dict[str, t.Any]) -> Entity | None:
        name = str(values["name"]).replace("/", "_")
        if len(self.names) > _MOST:
            return None
        self.names[name] = count = self.names.get(name, 0) + 1
        path = f"package:{name}"
        if count > 1:  # another machine's, or several versions of a kernel
            path = f"{path}_{count}" if count > 2 else f"{path}.{values['architecture']}"
        entity = Entity(path, values=values)
        return self.reading.add(entity)

    def _history(self, line: str) -> bool:
        """Read a row of `history`, or a line of `history info`."""
        row, block = _dnf_text.HISTORY.match(line), _dnf_text.INFO_ID.match(line.strip())
        match = row or block
        if match is not None:
            self.transaction = self.reading.add(Entity(f"transaction:{int(match.group(1))}"))
            self.action = None
            if row:
                _ident, command, time, actions, altered, marks = row.groups()
                who = "user" if self.by_user else "command"
                self.transaction.values.update(
                    {
                        who: command.strip() or None,
                        "time": time,
                        "actions": actions.strip() or None,
                        "altered_count": int(altered),
                        "marks": marks.strip() or None,
                    }
                )
                self.transaction = None
            return True
        if self.transaction is None:
            head = bool(_dnf_text.HISTORY_HEAD.match(line))
            self.by_user = "Login user" in line if head else self.by_user
            return head
        pair, altered_one = _dnf_text.INFO.match(line.strip()), _dnf_text.ALTERED.match(line)
        if altered_one:
            word, name, version, architecture = altered_one.groups()
            action = _dnf_text.SUMMARY.get(word.lower())
            values = {"name": name, "action": action, "version": version}
            if action:
                self._add({**values, "architecture": architecture})
        elif pair and pair.group(1) in _LABELS:
            self.transaction.values[_LABELS[pair.group(1)]] = (pair.group(2) or "").strip() or None
        return bool(altered_one or pair)

    def _result(self, word: str) -> bool:
        """Read the summary and the end."""
        values, count = self.node.values, _dnf_text.COUNT.match(word)
        if count and count.group(1).lower() in _dnf_text.SUMMARY:
            values[f"{_dnf_text.SUMMARY[count.group(1).lower()]}_count"] = sum(
                int(one) for one in count.groups()[1:] if one
            )
            self.action = None
            return True
        if word == "Complete!":
            values["result"] = "complete"
        elif word.startswith("Nothing to do"):
            values["result"] = "nothing_to_do"
        elif word.startswith(
            ("Operation aborted", "Operation has been cancelled", "Exiting on user")
        ):
            values["result"] = "aborted"
        else:
            return word.startswith("Transaction Summary")
        return True

    def _error(self, number: int, line: str) -> bool:
        """Read an error, or a line of the list of reasons below it."""
        word = line.strip()
        missing, filtered = _dnf_text.NOT_FOUND.match(word), _dnf_text.FILTERED.match(word)
        if missing:
            for name in missing.group(1).split():
                self._word("missing_packages", name)
        if filtered:
            self._word("filtered_packages", filtered.group(2))
        error = _dnf_text.ERROR.match(word)
        reason = _dnf_text.PROBLEM.match(line)
        if reason and (self.refused or word.startswith("Problem")):
            self._word("conflicts", word)
        if error or (missing and not self.refused):
            self._refuse(number, word)
        return bool(missing or filtered or error or (reason and self.refused))

    def _refuse(self, number: int, word: str) -> None:
        if not word.startswith("Problem"):
            self._word("errors", word)
        if not self.refused:
            says = "dnf refused or failed"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        self.refused = True

    def _word(self, name: str, word: str) -> None:
        listed = self.words.setdefault(name, [])
        if word not in listed and len(listed) < _MOST_WORDS:
            listed.append(word)

    def finish(self) -> Reading:
        """Compare the table with the summary, and say how it ended."""
        reading, values = self.reading, self.node.values
        if not (self.known or reading.entities):
            return _plain.nothing(reading, "a transaction of dnf, its error, or its history")
        for name, words in self.words.items():
            values[name] = list(words)
        transactions = sum(one.path.startswith("transaction:") for one in reading.entities)
        if transactions:
            values["transaction_count"] = transactions
        elif self.refused and values.get("result") != "complete":
            values["result"] = "failed"
        elif "result" not in values:
            values["result"] = "asked"
        self._compare()
        reading.entities.insert(0, self.node)
        if self.refused and values.get("result") == "failed":
            reading.quality = ERROR
        return reading

    def _compare(self) -> None:
        actions = [one.values.get("action") for one in self.reading.entities]
        told = {one: self.node.values.get(f"{one}_count") for one in _dnf_text.ACTIONS}
        for action in ("install", "upgrade", "downgrade", "reinstall"):
            listed, count = actions.count(action), told[action]
            if listed and isinstance(count, int) and listed != count:
                says = f"{count} packages to {action} by the summary, {listed} are listed"
                _plain.note(self.reading, "inconsistent", says)
        shown = any(one in _dnf_text.ACTIONS for one in actions)
        summed = any(isinstance(one, int) for one in told.values())
        if shown and not summed and "transaction_count" not in self.node.values:
            says = "it ends before the summary of the transaction"
            _plain.note(self.reading, "truncated", says)
