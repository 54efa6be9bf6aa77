# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback that records a plain ansible-playbook run into the journal."""

from __future__ import annotations

DOCUMENTATION = r"""
name: journal
type: notification
short_description: Record a run of ansible-playbook in the journal of Trackbed
version_added: 0.1.0
author: The Trackbed developers (@trackbed)
description:
  - Writes the steps and the evidence of every host into the journal of a cluster, as the command
    C(trackbed) does for its own runs, so that C(trackbed report), C(trackbed runs) and the action
    M(trackbed.cluster.judge) know of them.
  - It is opt-in. Name it in E(ANSIBLE_CALLBACKS_ENABLED).
  - Below the command C(trackbed), which records by itself, it does nothing.
  - Unlike C(trackbed) it cannot stop a run whose journal fails. It then warns once, loudly, and
    the record of that run ends there, marked as failed.
requirements:
  - enable in configuration, see C(callbacks_enabled)
options:
  journal:
    description:
      - The journal's file. Without it the variable C(trackbed_journal) of the first host is taken.
    type: path
    env:
      - name: TRACKBED_JOURNAL
    ini:
      - section: callback_journal
        key: journal
"""

import os
import sys
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.callback import CallbackBase
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_FAILED,
    EXIT_LEVEL,
    EXIT_PARTIAL,
    Finding,
    exit_code,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    DONE,
    FAILED,
    JournalError,
    RunInfo,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._records import (
    records_from_result,
)

# Set by src/trackbed/runner.py: a second writer would only be refused.
RECORDED = "TRACKBED_RECORDED"
_OFF = "the journal gets nothing of this run"


class CallbackModule(CallbackBase):
    """Writes synchronously: the judge of a later play must find what an earlier one saw."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "trackbed.cluster.journal"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, display: t.Any = None, options: t.Any = None) -> None:
        """Open nothing yet: the place may come from a variable of the inventory."""
        super().__init__(display, options)
        self.disabled = bool(os.environ.get(RECORDED))
        self._journal: Journal | None = None
        self._run = ""
        self._playbook = ""
        self._play: t.Any = None
        self._failure: str | None = None
        self._findings: list[Finding] = []
        self._any_failed = False

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        """Remember the playbook."""
        self._playbook = str(getattr(playbook, "_file_name", ""))

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Begin the run at the first play, where variables are known."""
        self._play = play
        if self._journal is None and self._failure is None:
            try:
                self._begin(self._place(play))
            except (JournalError, AnsibleError) as error:
                self._fail(str(error))

    def v2_runner_on_ok(self, result: t.Any, **_kwargs: t.Any) -> None:
        """Record."""
        self._record("ok", result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Record. Ansible says None where the task does not say whether to ignore errors."""
        # The judge fails its task where the nodes are not level: the node has not failed then.
        ignored = bool(ignore_errors) or "trackbed_findings" in result.result
        self._any_failed |= not ignored
        self._record("failed", result, ignored=ignored)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Record."""
        self._record("unreachable", result)

    def v2_runner_on_skipped(self, result: t.Any) -> None:
        """Record."""
        self._record("skipped", result)

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """End the run with the code that the command line would have given."""
        if self._journal is None:
            return
        code = exit_code(self._findings) if self._findings else EXIT_LEVEL
        if stats.dark and code == EXIT_LEVEL:
            code = EXIT_PARTIAL
        if self._any_failed:
            code = EXIT_FAILED
        try:
            self._journal.end_run(self._run, code, FAILED if self._failure else DONE)
            self._journal.close()
        except JournalError as error:
            self._fail(str(error))

    def _place(self, play: t.Any) -> str:
        place = self.get_option("journal")
        if place:
            return str(place)
        manager = play.get_variable_manager()
        for host in manager._inventory.get_hosts():
            found = manager.get_vars(host=host).get("trackbed_journal")
            if found:
                return str(found)
        raise AnsibleError(
            "no journal is named: set TRACKBED_JOURNAL, or the variable trackbed_journal"
        )

    def _begin(self, place: str) -> None:
        self._journal = Journal.open(place)
        # Options may hold secrets in -e; the playbook's name is enough to know the run.
        verb = self._playbook.rsplit("/", 1)[-1].removesuffix(".yml")
        info = RunInfo(verb=verb, command=f"{sys.argv[0].rsplit('/', 1)[-1]} {self._playbook}")
        self._run = self._journal.begin_run(info)

    def _record(self, status: str, result: t.Any, ignored: bool = False) -> None:
        if self._journal is None or self._failure is not None:
            return
        task = result.task
        role = getattr(task, "_role", None)
        try:
            records = records_from_result(
                result.host.get_name(),
                status,
                result.result,
                task=task.get_name(),
                ignored=ignored,
                where={
                    "playbook": self._playbook,
                    "play": self._play.get_name() if self._play else None,
                    "role": role.get_name() if role else None,
                },
            )
            self._journal.write(self._run, records)
            found = result.result.get("trackbed_findings")
            if found:
                # The judge cannot store them: it runs in a process of its own, and we write.
                self._findings = [Finding.from_dict(one) for one in found]
                self._journal.add_findings(self._run, self._findings)
        except JournalError as error:
            self._fail(str(error))

    def _fail(self, why: str) -> None:
        """Say it once and loudly: the run goes on, its record does not."""
        self._failure = why
        self._display.error(f"trackbed.cluster.journal: {why}; {_OFF}")
