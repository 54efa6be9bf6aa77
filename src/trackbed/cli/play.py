"""Run one playbook of the collection and say what it came to, as the journal knows it."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    DONE,
    FAILED,
    INTERRUPTED,
    JournalError,
    RunInfo,
)

from trackbed import collection
from trackbed.cli import command, summary
from trackbed.cli.context import Context
from trackbed.cli.progress import Progress
from trackbed.errors import TrackbedError
from trackbed.recorder import Recorder

if TYPE_CHECKING:
    from trackbed.runner import Job, RunOutcome

Then = Callable[[Journal, str], int]
"""What follows the playbook within the same run; returns its exit code."""


@dataclass(frozen=True)
class Played:
    """A playbook that has come to its end, on whichever nodes."""

    verb: str
    run: str
    exit_code: int
    nodes: list[dict[str, Any]]
    failures: list[dict[str, Any]]
    changes: list[dict[str, Any]]

    def document(self, **keys: Any) -> dict[str, Any]:
        """Return a document in the form of docs/cli.md."""
        return {
            "schema": summary.SCHEMA,
            "verb": self.verb,
            "exit_code": self.exit_code,
            "run": self.run,
            "nodes": self.nodes,
            "failures": self.failures,
            **keys,
        }


def play(context: Context, verb: str, playbook: str, then: Then | None = None) -> Played:
    """Run a playbook as one run of the journal, and `then` within it.

    Raises JournalError before anything was touched, and TrackbedError where it
    was interrupted (130), or where no node got a result or the record is not whole (1).
    """
    nodes = context.nodes
    job = _job(context, verb, playbook)
    info = RunInfo(
        verb,
        shlex.join(command.line(verb, context.args, context.config, nodes.sources)),
        nodes.sources,
        job.check,
        collection.version(),
    )
    with context.journal() as journal:
        run = journal.begin_run(info)
        context.output.detail(f"{verb}: run {run} in {journal.path}")
        try:
            played = _recorded(context, journal, run, job, verb)
            code = then(journal, run) if then else played.exit_code
            code = summary.worst([played.exit_code, code])
            journal.end_run(run, code, FAILED if code == EXIT_FAILED else DONE)
        except BaseException as error:
            _end_badly(journal, run, error)
            if isinstance(error, JournalError):
                raise _broken_record(str(error)) from error
            raise
    return Played(verb, run, code, played.nodes, played.failures, played.changes)


def _job(context: Context, verb: str, playbook: str) -> Job:
    from trackbed.runner import Job  # noqa: PLC0415  (0.3 s)

    args, applies = context.args, verb in command.APPLY
    return Job(
        playbook=f"trackbed.cluster.{playbook}",
        inventory=command.inventory(context.nodes.sources),
        limit=context.config.limit.value,
        tags=args.tags if applies else (),
        check=applies and args.check,
        # What each setting was before belongs into the journal, asked for or not.
        diff=applies,
        forks=context.config.forks.value,
        verbosity=max(0, args.verbose - 1),
        options=tuple(command.options(args)),
    )


def _recorded(context: Context, journal: Journal, run: str, job: Job, verb: str) -> Played:
    """Run the job with every event in the journal, and say what it came to."""
    names = context.nodes.names
    progress = Progress(context.output, verb, len(names))

    def watch(event: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # nobody looks on: no reason to stop the run
            progress.event(event)

    recorder = Recorder(journal, run, watch)
    recorder.start()
    try:
        outcome = context.runner.run(job, recorder.handle, recorder.must_stop)
    finally:
        problems = recorder.finish()
        with contextlib.suppress(OSError):
            progress.close()
    if outcome.interrupted:
        raise KeyboardInterrupt
    if problems:
        raise _broken_record("; ".join(problems[:5]))
    known = journal.run(run)
    rows = summary.node_rows(names, known.nodes if known else ())
    _require_results(outcome, rows)
    steps = journal.steps(run)
    return Played(
        verb,
        run,
        summary.run_code(rows),
        rows,
        summary.failures(steps),
        summary.changes(steps),
    )


def _require_results(outcome: RunOutcome, rows: list[dict[str, Any]]) -> None:
    """Raise TrackbedError where the playbook failed, but on no node that we know of."""
    if outcome.rc == 0 or any(row["failed"] or row["unreachable"] for row in rows):
        return
    last = " ".join(outcome.output.splitlines()[-5:])
    raise TrackbedError(
        f"ansible-playbook ended with code {outcome.rc} ({outcome.status})"
        + (f": {last}" if last else ""),
        wanted="a result from each node",
        remedy="see what it says with -vv; the command that was run is in `trackbed runs show`",
        code=EXIT_FAILED,
    )


def _end_badly(journal: Journal, run: str, error: BaseException) -> None:
    """Note the end of a run that did not come to its own; the first error is the one to tell."""
    code, state, says = EXIT_FAILED, FAILED, str(error) or type(error).__name__
    if isinstance(error, KeyboardInterrupt):
        code, state, says = EXIT_INTERRUPTED, INTERRUPTED, "interrupted by the user"
    with contextlib.suppress(JournalError):
        journal.end_run(run, code, state, says)


def _broken_record(says: str) -> TrackbedError:
    return TrackbedError(
        f"the record of this run is not whole: {says}",
        wanted="every result of every node in the journal",
        remedy="mend the cause (a full disk?), then run the same command again",
        code=EXIT_FAILED,
    )
