"""No dead checks: each is seen to fail, to pass and not to know, on raw output of the tool.

A sample is a directory `tests/data/judge/<check>/{good,bad,unreadable}/<sample>/` of files
`<node>.<kind>.txt`, the tool's output as it is, which goes through the reader of that kind, and
`sample.yml`: the SKU of the nodes, and how the sentence about an entity has to begin (the end can
be the reader's own words).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.module_utils import _evidence
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds
from ansible_collections.trackbed.cluster.plugins.plugin_utils._book import Book, load
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    FAIL,
    PASS,
    SKIP,
    UNKNOWN,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._judge import judge
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

DATA = Path(__file__).resolve().parents[3] / "data" / "judge"
CLASSES = ("good", "bad", "unreadable")
CHECKS = [check.id for check in load().checks]
SAMPLES = sorted(DATA.glob("*/*/*/sample.yml"))


@dataclasses.dataclass(frozen=True)
class Judged:
    """A sample and what came of it."""

    kind: str
    findings: list[Finding]
    says: dict[str, str]

    @property
    def verdicts(self) -> set[str]:
        return {one.verdict for one in self.findings}


def _judged(path: Path) -> Judged:
    check, kind = path.parts[-4], path.parts[-3]
    sample = yaml.safe_load(path.read_text(encoding="utf-8"))
    evidence = {}
    for file in sorted(path.parent.glob("*.txt")):
        node, source, _ = file.name.split(".")
        raw = file.read_bytes()
        reading = _kinds.kinds()[source].read(raw)
        started = "2026-12-01T04:50:03Z"
        evidence[node] = [_evidence.document(reading, node, started, 0.1, raw)]
    whole = load()
    book = Book(whole.skus, tuple(one for one in whole.checks if one.id == check))
    topology = Topology.from_hostvars({n: {"trackbed_sku": sample["sku"]} for n in evidence})
    return Judged(kind, judge(evidence, {}, topology, book, {}), sample["says"])


def _name(path: Path) -> str:
    return "/".join(path.parts[-4:-1])


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_samples(check: str, kind: str) -> None:
    """A check without them could be dead and nobody would know."""
    where = DATA / check / kind
    assert list(where.glob("*/sample.yml")), f"no sample in {where}"


def test_every_sample_belongs_to_a_check() -> None:
    assert {(path.parts[-4], path.parts[-3]) for path in SAMPLES} <= {
        (check, kind) for check in CHECKS for kind in CLASSES
    }


@pytest.mark.parametrize("path", SAMPLES, ids=_name)
def test_the_judge_says_what_the_sample_wants(path: Path) -> None:
    sample = _judged(path)
    found = {one.entity: one.says for one in sample.findings}
    for entity, says in sample.says.items():
        assert found.get(entity, "nothing").startswith(says), found


@pytest.mark.parametrize("path", SAMPLES, ids=_name)
def test_the_verdict_is_of_the_samples_class(path: Path) -> None:
    sample = _judged(path)
    told = {one.entity: one.verdict for one in sample.findings if one.entity in sample.says}
    if sample.kind == "good":
        assert sample.verdicts == {PASS}
    elif sample.kind == "bad":
        assert set(told.values()) == {FAIL}
        assert sample.verdicts <= {FAIL, PASS}
    else:
        assert set(told.values()) == {UNKNOWN}
        assert not sample.verdicts & {FAIL, SKIP}
        named = {entity.split("/")[0] for entity in sample.says}
        assert not any(one.verdict == PASS for one in sample.findings if one.node in named)


@pytest.mark.parametrize("path", SAMPLES, ids=_name)
def test_findings_lead_back_to_the_raw_output(path: Path) -> None:
    """What was found about a node carries the hash of what was read there."""
    for one in _judged(path).findings:
        raw = next(path.parent.glob(f"{one.node}.*.txt")).read_bytes()
        part = _evidence._raw_part(raw)
        assert part is not None
        assert one.evidence == (part["sha256"],)
