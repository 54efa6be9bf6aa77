# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The finding: what the judge says about one entity. Private to trackbed.cluster."""

from __future__ import annotations

import dataclasses
import typing as t

PASS = "pass"  # noqa: S105  (a verdict, not a password)
WARN = "warn"
FAIL = "fail"
UNKNOWN = "unknown"
SKIP = "skip"
VERDICTS = (PASS, WARN, FAIL, UNKNOWN, SKIP)
SEVERITIES = ("info", "minor", "major", "critical")
BASES = ("book", "peers", "golden", "policy", "spec")

# Exit codes of every verb (evidence contract).
EXIT_LEVEL = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_LEVEL = 3
EXIT_PARTIAL = 4
EXIT_INTERRUPTED = 130


@dataclasses.dataclass(frozen=True)
class Basis:
    """Where the expectation came from."""

    kind: str
    ref: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """One verdict about one entity. A `skip` always says why."""

    check: str
    entity: str
    verdict: str
    severity: str
    says: str
    expected: str | None = None
    actual: str | None = None
    basis: Basis | None = None
    action: str | None = None
    remedy: dict[str, str] | None = None
    evidence: tuple[str, ...] = ()
    confidence: float | None = None

    @property
    def node(self) -> str:
        """The node that the entity belongs to."""
        return self.entity.split("/", 1)[0]

    def as_dict(self) -> dict[str, t.Any]:
        """Return plain JSON types."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, t.Any]) -> Finding:
        """Rebuild a finding that `as_dict` wrote."""
        basis = raw.get("basis")
        return cls(
            **{
                **raw,
                "basis": Basis(**basis) if basis else None,
                "evidence": tuple(raw.get("evidence") or ()),
            }
        )


def exit_code(findings: t.Iterable[Finding]) -> int:
    """Return the exit code for these findings: fail and warn are "not level", unknown is "partial".

    Nothing judged is not level either: it is unknown.
    """
    verdicts = {one.verdict for one in findings}
    if verdicts & {FAIL, WARN}:
        return EXIT_NOT_LEVEL
    if UNKNOWN in verdicts or PASS not in verdicts:
        return EXIT_PARTIAL
    return EXIT_LEVEL
