"""No dead checks: each is seen to fail, to pass and not to know, on raw output of the tool.

A sample is raw output of one or more nodes, which goes through the reader of its kind, the SKU of
the nodes, and how the sentence about an entity has to begin (the end can be the reader's own
words). It is a directory `tests/data/judge/<check>/{good,bad,unreadable}/<sample>/` of files
`<node>.<kind>.txt` and `sample.yml`; or, where it is short, an entry `<class>: <sample>:` of
`tests/data/judge/<check>/samples.yml`, with the output as `text`, or as changes to a file (`from`,
`replace`: the first place that holds the old text).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

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


@dataclasses.dataclass(frozen=True)
class Sample:
    """Raw output of some nodes."""

    check: str
    kind: str
    name: str
    sku: str
    says: dict[str, str]
    outputs: dict[str, tuple[str, bytes]]
    """Node -> kind and output."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """A sample and what came of it."""

    kind: str
    findings: list[Finding]
    says: dict[str, str]

    @property
    def verdicts(self) -> set[str]:
        return {one.verdict for one in self.findings}


def _directory(path: Path) -> Sample:
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    outputs = {}
    for file in sorted(path.parent.glob("*.txt")):
        node, source, _ = file.name.split(".")
        outputs[node] = source, file.read_bytes()
    check, kind, name = path.parts[-4:-1]
    return Sample(check, kind, name, raw["sku"], raw["says"], outputs)


def _short(path: Path) -> list[Sample]:
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        Sample(
            path.parent.name,
            kind,
            name,
            one["sku"],
            one["says"],
            {node: (each["kind"], _output(each)) for node, each in one["nodes"].items()},
        )
        for kind, samples in raw.items()
        for name, one in samples.items()
    ]


def _output(raw: dict[str, Any]) -> bytes:
    if "text" in raw:
        return str(raw["text"]).encode()
    text = (DATA / raw["from"]).read_text(encoding="utf-8")
    for old, new in raw.get("replace", []):
        assert old in text, f"{raw['from']} does not hold {old}"
        text = text.replace(old, new, 1)
    return text.encode()


SAMPLES = [
    *(_directory(path) for path in sorted(DATA.glob("*/*/*/sample.yml"))),
    *(sample for path in sorted(DATA.glob("*/samples.yml")) for sample in _short(path)),
]


def _judged(sample: Sample) -> Judged:
    evidence = {}
    for node, (source, raw) in sample.outputs.items():
        reading = _kinds.kinds()[source].read(raw)
        started = "2026-12-01T04:50:03Z"
        evidence[node] = [_evidence.document(reading, node, started, 0.1, raw)]
    whole = load()
    book = Book(whole.skus, tuple(one for one in whole.checks if one.id == sample.check))
    topology = Topology.from_hostvars({n: {"trackbed_sku": sample.sku} for n in evidence})
    return Judged(sample.kind, judge(evidence, {}, topology, book, {}), sample.says)


def _name(sample: Sample) -> str:
    return f"{sample.check}/{sample.kind}/{sample.name}"


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_samples(check: str, kind: str) -> None:
    """A check without them could be dead and nobody would know."""
    assert any((one.check, one.kind) == (check, kind) for one in SAMPLES), DATA / check


def test_every_sample_belongs_to_a_check() -> None:
    assert {(one.check, one.kind) for one in SAMPLES} <= {
        (check, kind) for check in CHECKS for kind in CLASSES
    }


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_the_judge_says_what_the_sample_wants(sample: Sample) -> None:
    judged = _judged(sample)
    found = {one.entity: one.says for one in judged.findings}
    for entity, says in judged.says.items():
        assert found.get(entity, "nothing").startswith(says), found


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_the_verdict_is_of_the_samples_class(sample: Sample) -> None:
    judged = _judged(sample)
    told = {one.entity: one.verdict for one in judged.findings if one.entity in judged.says}
    if judged.kind == "good":
        assert judged.verdicts == {PASS}
    elif judged.kind == "bad":
        assert set(told.values()) == {FAIL}
        assert judged.verdicts <= {FAIL, PASS}
    else:
        assert set(told.values()) == {UNKNOWN}
        assert not judged.verdicts & {FAIL, SKIP}
        named = {entity.split("/")[0] for entity in judged.says}
        assert not any(one.verdict == PASS for one in judged.findings if one.node in named)


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_findings_lead_back_to_the_raw_output(sample: Sample) -> None:
    """What was found about a node carries the hash of what was read there."""
    for one in _judged(sample).findings:
        raw = sample.outputs[one.node][1]
        part = _evidence._raw_part(raw)
        assert part is not None
        assert one.evidence == (part["sha256"],)
