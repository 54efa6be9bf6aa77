"""The page docs/checks.md: every check, what it reads, what a failure asks for, and the sources."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.trackbed.cluster.plugins.plugin_utils._actions import ACTIONS
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Check
from ansible_collections.trackbed.cluster.plugins.plugin_utils._rules_values import wanted

_HEAD = """# Checks

Made by `make docs` from the checks' own declarations. `trackbed validate` and `trackbed read` judge
by them, and so does the module `trackbed.cluster.judge`. A check fails, passes, or says `unknown`
with the reason; it is skipped where a node has not what it looks at, or where the run did not read
it. Each is proved, in `tests/data/judge`, to do all three on raw output of the tool.

A site's policy (`trackbed_policy`, a mapping from check to settings) switches a check off
(`enabled: false`), or changes its `severity`, its `action`, or what it wants (`want`, where a value
is compared): `trackbed_policy: {gpu_spare_rows: {want: 2, severity: info}}`.

"""


def page(checks: Sequence[Check]) -> str:
    """Return the page."""
    rows = "\n".join(
        f"| [`{one.id}`](#{one.id}) | {one.title} | {one.severity} | {', '.join(one.reads)} |"
        for one in checks
    )
    table = f"| Check | What | Severity | Reads |\n|---|---|---|---|\n{rows}\n"
    return _HEAD + table + "".join(_section(one) for one in checks)


def _section(check: Check) -> str:
    sources = "\n".join(f"* {source}" for source in check.sources)
    lines = [
        f"\n## {check.id}\n",
        f"{check.title}. {check.explains.strip()}\n",
        f"**Wanted**: {_wanted(check)}. **Severity**: {check.severity}.{_where(check)}\n",
        f"**To do**: {ACTIONS[check.action]}\n",
        f"Sources:\n\n{sources}",
    ]
    return "\n".join(lines) + "\n"


def _wanted(check: Check) -> str:
    value, part = check.params.get("value"), check.params.get("entity")
    of = f" of each {part}" if part and part != "*" else ""
    if check.rule == "value_is":
        return f"`{value}`{of}: {wanted(check.params)}"
    if check.rule == "peers_equal":
        return f"`{value}`{of}: the same on all nodes of a SKU"
    if check.rule == "events":
        return f"no {check.params['noun']} in the kernel log"
    return "what the SKU table says"


def _where(check: Check) -> str:
    only = [f"GPUs of {check.vendor}"] if check.vendor else []
    only += ["where the driver is loaded"] if check.only_with else []
    only += ["where the run has read it"] if check.optional else []
    return f" **Only**: {', '.join(only)}." if only else ""
