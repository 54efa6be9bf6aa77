"""The verbs that change nodes: `site`, and `up`, which is `site` and then `validate`."""

from __future__ import annotations

from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import EXIT_FAILED

from trackbed.cli import observe, play, render, summary
from trackbed.cli.context import Context


def site(context: Context) -> int:
    """Make the nodes as the site file says."""
    if context.args.show:
        return context.show()
    document = _apply(context)
    context.output.emit(document)
    return int(document["exit_code"])


def up(context: Context) -> int:
    """Make the nodes as the site file says, then validate them.

    A node that was not reached does not stop the others from being judged; a
    failed one does, because what was half applied would be judged as a defect.
    """
    if context.args.show:
        return context.show()
    applied = _apply(context)
    judged: dict[str, Any] | None = None
    if applied["exit_code"] != EXIT_FAILED:
        context.output.text("")
        judged = observe.judge_nodes(context)
    else:
        context.output.say("up: not validated, because site did not come to its end")
    code = summary.worst(int(one["exit_code"]) for one in (applied, judged) if one)
    check = bool(context.args.check)
    context.output.emit(context.document(code, check=check, site=applied, validate=judged))
    return code


def _apply(context: Context) -> dict[str, Any]:
    """Run the playbook `site`, print what it came to, and return its document."""
    played = play.play(context, "site", "site")
    document = played.document(check=bool(context.args.check), changes=played.changes)
    itemised = bool(context.args.diff or context.args.check)
    colour, width = context.output.colour, context.width
    context.output.text(render.site(document, itemised=itemised, colour=colour, width=width))
    return document
