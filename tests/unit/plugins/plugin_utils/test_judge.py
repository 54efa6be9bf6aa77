"""The rules themselves, on small evidence. That they see real defects in the output of real

tools is proved by test_judge_samples.py, through the readers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _rules
from ansible_collections.trackbed.cluster.plugins.plugin_utils._book import Book, load
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Check
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._judge import judge
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import parse_policy
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

Evidence = dict[str, list[dict[str, Any]]]


def _document(source: str, entities: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    base = {"schema": 1, "source": source, "quality": "ok", "problems": [], "raw": None}
    return {**base, "entities": entities, **more}


def _entity(path: str, **values: Any) -> dict[str, Any]:
    return {"path": path, "ids": {}, "values": values}


def _lspci(node: str, links: list[tuple[Any, ...]], **more: Any) -> dict[str, Any]:
    gpus = [
        _entity(
            f"{node}/gpu:{index}",
            pcie_gen=link[0],
            pcie_width=link[1],
            pcie_max_gen=link[2] if len(link) > 2 else 5,
        )
        for index, link in enumerate(links)
    ]
    return _document("lspci", [_entity(node, gpu_count=len(links)), *gpus], **more)


def _os(node: str, kernel: str | None, **more: Any) -> dict[str, Any]:
    return _document("os", [_entity(node, kernel_release=kernel)], **more)


def _topology(*names: str, sku: str = "h100-sxm") -> Topology:
    return Topology.from_hostvars({name: {"trackbed_sku": sku} for name in names})


def _judge(check: str, evidence: Evidence, topology: Topology, policy: Any = None) -> list[Finding]:
    whole = load()
    book = Book(whole.skus, tuple(one for one in whole.checks if one.id == check))
    parsed = parse_policy(policy, [one.id for one in whole.checks])
    return judge(evidence, {}, topology, book, parsed)


def _one(check: str, document: dict[str, Any], sku: str = "h100-sxm") -> Finding:
    (finding,) = _judge(check, {"n1": [document]}, _topology("n1", sku=sku))
    return finding


FULL = [(5, 16)] * 8


def _sku(check: str) -> str:
    """Return a SKU that has what the check looks at."""
    return "mi300x" if _declared(check).vendor == "amd" else "h100-sxm"


def _declared(check: str) -> Check:
    return next(one for one in load().checks if one.id == check)


class TestEveryCheckAndNode:
    CHECKS = tuple(check.id for check in load().checks)

    @pytest.mark.parametrize("check", CHECKS)
    def test_no_evidence_is_unknown(self, check: str) -> None:
        empty: list[Evidence] = [{}, {"n1": []}]
        for evidence in empty:
            (finding,) = _judge(check, evidence, _topology("n1", sku=_sku(check)))
            assert (finding.verdict, finding.action) == ("unknown", "reach_node")
            assert finding.says == "n1 gave no evidence in this run."

    @pytest.mark.parametrize("check", CHECKS)
    def test_another_source_is_no_evidence(self, check: str) -> None:
        finding = _one(check, _document("rpm-qi", []), _sku(check))
        known = ("unknown", "repeat")
        assert (finding.verdict, finding.action) == (
            ("skip", None) if _declared(check).optional else known
        )
        assert finding.says.endswith(" in this run.")

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize(
        ("quality", "action"),
        [
            ("absent", "install_tool"),
            ("timeout", "repeat"),
            ("unreadable", "report_format"),
            ("error", "read_tool_error"),
        ],
    )
    def test_bad_quality_is_unknown_with_reason_and_remedy(
        self, check: str, quality: str, action: str
    ) -> None:
        source = _declared(check).reads[-1]
        if quality == "absent" and _declared(check).optional:
            pytest.skip("a node need not have it: test_what_a_node_has_not_is_skipped")
        problems = [{"code": "tool_error", "says": "it says why."}]
        raw = {"sha256": "ab"}
        document = _document(source, [], quality=quality, problems=problems, raw=raw)
        finding = _one(check, document, _sku(check))
        assert (finding.verdict, finding.actual, finding.action) == ("unknown", quality, action)
        assert finding.says.endswith(": it says why.")
        assert finding.evidence == ("ab",)

    @pytest.mark.parametrize("check", CHECKS)
    def test_not_applicable_is_skipped_with_the_reason(self, check: str) -> None:
        source = _declared(check).reads[-1]
        document = _document(source, [], quality="not_applicable")
        finding = _one(check, document, _sku(check))
        assert finding.verdict == "skip"
        declared = _declared(check)
        compares = declared.rule == "peers_equal" and declared.optional
        says = "No node of " if compares else f"{source} does not apply to n1: no reason was given."
        assert finding.says.startswith(says)

    @pytest.mark.parametrize("check", CHECKS)
    def test_what_a_node_has_not_is_skipped(self, check: str) -> None:
        declared = _declared(check)
        if declared.vendor:
            sku = "h100-sxm" if declared.vendor == "amd" else "mi300x"
            finding = _one(check, _document(declared.reads[0], []), sku)
            assert finding.verdict == "skip"
            assert f"has no GPUs of {declared.vendor}" in finding.says
        if declared.only_with:
            problems = [{"code": "tool_absent", "says": "no kernel module is loaded"}]
            without = _document(declared.only_with, [], quality="absent", problems=problems)
            finding = _one(check, without)
            assert finding.verdict == "skip"
            assert finding.says == "Not judged on n1: no kernel module is loaded."
        if declared.optional:
            problems = [{"code": "tool_absent", "says": "it is not there"}]
            absent = _document(declared.reads[0], [], quality="absent", problems=problems)
            finding = _one(check, absent, _sku(check))
            assert finding.verdict == "skip"
            says = {"peers_equal": "No node of "}.get(declared.rule, "Not judged on n1: it is not")
            assert finding.says.startswith(says)

    def test_one_node_without_what_all_others_have_is_not_like_them(self) -> None:
        def driver(name: str) -> dict[str, Any]:
            return _document("proc-driver-nvidia-version", [_entity(name, driver_version="580.1")])

        none = _document("proc-driver-nvidia-version", [], quality="absent")
        names = ["n1", "n2", "n3"]
        evidence = {"n1": [driver("n1")], "n2": [driver("n2")], "n3": [none]}
        found = _judge("gpu_driver_equal", evidence, _topology(*names))
        assert {one.node: one.verdict for one in found} == {
            "n1": "pass",
            "n2": "pass",
            "n3": "fail",
        }
        assert found[-1].says == "n3 has driver none; 2 of 3 nodes of h100-sxm have 580.1."

    @pytest.mark.parametrize("check", ["gpu_count", "gpu_pcie_link", "kernel_equal"])
    def test_an_unknown_or_missing_sku_is_unknown(self, check: str) -> None:
        good = [_lspci("n1", FULL), _os("n1", "6.1")]
        for sku, says in [("h100", "did you mean 'h100-sxm'?"), ("", "does not say what n1 is")]:
            (finding,) = _judge(check, {"n1": good}, _topology("n1", sku=sku))
            assert (finding.verdict, finding.action) == ("unknown", "name_sku")
            assert says in finding.says

    @pytest.mark.parametrize("check", CHECKS)
    def test_switched_off_is_skipped(self, check: str) -> None:
        (finding,) = _judge(check, {}, _topology("n1"), {check: {"enabled": False}})
        assert (finding.verdict, finding.says) == ("skip", "The policy switches this check off.")
        assert finding.basis is not None
        assert finding.basis.kind == "policy"

    def test_a_rule_that_is_silent_becomes_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        silent = dataclasses.replace(_rules.RULES["gpu_count"], judge=lambda check, case: [])
        monkeypatch.setitem(_rules.RULES, "gpu_count", silent)
        finding = _one("gpu_count", _lspci("n1", FULL))
        assert finding.verdict == "unknown"
        assert "no verdict for n1" in finding.says

    def test_order_is_check_then_node_then_entity(self) -> None:
        names = ["n10", "n2", "n1"]
        slow = [(4, 16)] * 8
        evidence = {name: [_os(name, "6.1"), _lspci(name, slow)] for name in names}
        findings = judge(evidence, {}, _topology(*names), load(), {})
        assert [one.entity for one in findings if one.check == "gpu_pcie_link"] == [
            f"{name}/gpu:{index}" for name in ("n1", "n2", "n10") for index in range(8)
        ]
        assert findings == judge(
            dict(reversed(evidence.items())), {}, _topology(*names), load(), {}
        )
        assert list(dict.fromkeys(one.check for one in findings)) == list(self.CHECKS)


class TestGpuCount:
    def test_pass(self) -> None:
        finding = _one("gpu_count", _lspci("n1", FULL, raw={"sha256": "ab"}))
        assert finding.as_dict() == {
            "check": "gpu_count",
            "entity": "n1",
            "verdict": "pass",
            "severity": "critical",
            "says": "n1 shows 8 GPUs on its PCI bus.",
            "expected": "8",
            "actual": "8",
            "basis": {"kind": "spec", "ref": load().skus["h100-sxm"].source("gpu_count")},
            "action": None,
            "remedy": None,
            "evidence": ("ab",),
            "confidence": None,
        }

    @pytest.mark.parametrize(
        ("count", "says", "action"),
        [
            (7, "n1 shows 7 GPUs on its PCI bus; a node of h100-sxm has 8.", "find_missing_gpu"),
            (1, "n1 shows 1 GPU on its PCI bus; a node of h100-sxm has 8.", "find_missing_gpu"),
            (0, "n1 shows no GPUs on its PCI bus; a node of h100-sxm has 8.", "find_missing_gpu"),
            (9, "n1 shows 9 GPUs on its PCI bus; a node of h100-sxm has 8.", "correct_sku"),
        ],
    )
    def test_fail(self, count: int, says: str, action: str) -> None:
        finding = _one("gpu_count", _lspci("n1", [(5, 16)] * count))
        assert (finding.verdict, finding.says, finding.action) == ("fail", says, action)
        assert (finding.expected, finding.actual) == ("8", str(count))

    def test_what_hangs_on_a_gpu_is_not_a_gpu(self) -> None:
        document = _lspci("n1", FULL)
        document["entities"].append(_entity("n1/gpu:0/mig:1"))
        assert _one("gpu_count", document).verdict == "pass"

    @pytest.mark.parametrize(
        ("problem", "verdict"),
        [
            ({"code": "malformed", "says": "a line is not known."}, "unknown"),
            ({"code": "limited", "says": "entities left out"}, "unknown"),
            ({"code": "no_access", "says": "capabilities need root"}, "fail"),
            ({"code": "malformed", "says": "this link", "entity": "gpu:3"}, "fail"),
        ],
    )
    def test_what_was_not_understood_may_hide_a_gpu(
        self, problem: dict[str, str], verdict: str
    ) -> None:
        more = {"quality": "partial", "problems": [problem]}
        finding = _one("gpu_count", _lspci("n1", FULL[:7], **more))
        assert finding.verdict == verdict
        if verdict == "unknown":
            says = problem["says"].rstrip(".")
            assert finding.says == f"The GPUs of n1 cannot be counted: {says}."
        assert _one("gpu_count", _lspci("n1", FULL, **more)).verdict == "pass"

    def test_a_list_that_was_cut_never_passes(self) -> None:
        problems = [{"code": "truncated", "says": "the listing ends within a device."}]
        document = _lspci("n1", FULL, quality="partial", problems=problems)
        document["entities"][0]["values"]["gpu_count"] = None
        finding = _one("gpu_count", document)
        assert (finding.verdict, finding.says) == (
            "unknown",
            "The GPUs of n1 cannot be counted: the listing ends within a device.",
        )

    @pytest.mark.parametrize(
        ("dead", "says"),
        [
            ([3], "GPU 3 no longer answers."),
            ([3, 5], "GPU 3 and GPU 5 no longer answer."),
            ([1, 3, 5], "GPU 1, GPU 3 and GPU 5 no longer answer."),
        ],
    )
    def test_a_gpu_that_fell_off_the_bus_does_not_count(self, dead: list[int], says: str) -> None:
        document = _lspci("n1", FULL)
        for index in range(8):
            values = document["entities"][index + 1]["values"]
            values["config_readable"] = index not in dead
        finding = _one("gpu_count", document)
        assert finding.verdict == "fail"
        assert finding.says == f"n1 shows 8 GPUs on its PCI bus, but {says}"
        assert finding.actual == f"{8 - len(dead)} of 8 answer"

    def test_two_counts_that_contradict_each_other(self) -> None:
        document = _lspci("n1", FULL)
        document["entities"][0]["values"]["gpu_count"] = 7
        assert "the list holds 8, its own count says 7" in _one("gpu_count", document).says

    def test_without_the_node_there_is_no_count(self) -> None:
        finding = _one("gpu_count", _document("lspci", []))
        assert (finding.verdict, finding.says) == (
            "unknown",
            "The GPUs of n1 cannot be counted: lspci gave no count.",
        )


class TestGpuPcieLink:
    CHECK = "gpu_pcie_link"

    def _with(self, link: tuple[Any, ...], **more: Any) -> Finding:
        return _one(self.CHECK, _lspci("n1", [*FULL[:5], link, *FULL[:2]], **more))

    def test_pass(self) -> None:
        finding = _one(self.CHECK, _lspci("n1", FULL))
        assert (finding.verdict, finding.entity) == ("pass", "n1")
        assert finding.says == "All 8 GPUs of n1 run their PCIe links at Gen5 x16."

    def test_faster_than_the_specification_is_not_wrong(self) -> None:
        assert _one(self.CHECK, _lspci("n1", [(6, 16, 6)] * 8)).verdict == "pass"

    @pytest.mark.parametrize(
        ("link", "says", "actual"),
        [
            ((4, 16), "at Gen4 instead of Gen5.", "Gen4 x16"),
            ((5, 8), "at x8 instead of x16.", "Gen5 x8"),
            ((3, 8), "at Gen3 x8 instead of Gen5 x16.", "Gen3 x8"),
            # Rest explains the speed, never the width.
            ((1, 8), "at x8 instead of x16.", "Gen1 x8"),
            (
                (4, 16, 4),
                "at Gen4 instead of Gen5. The GPU itself offers no more than Gen4.",
                "Gen4 x16",
            ),
            (
                (1, 16, 1),
                "at Gen1 instead of Gen5. The GPU itself offers no more than Gen1.",
                "Gen1 x16",
            ),
        ],
    )
    def test_fail(self, link: tuple[int, ...], says: str, actual: str) -> None:
        finding = self._with(link)
        assert (finding.verdict, finding.entity) == ("fail", "n1/gpu:5")
        assert finding.says == f"GPU 5 of n1 trained its PCIe link {says}"
        assert (finding.expected, finding.actual) == ("Gen5 x16", actual)
        assert finding.action == "reseat_or_replace"
        assert finding.basis is not None
        assert finding.basis.kind == "spec"

    def test_a_link_that_is_down(self) -> None:
        finding = self._with((1, 0))
        assert (finding.verdict, finding.actual) == ("fail", "down")
        assert finding.says == "The PCIe link of GPU 5 of n1 is down."

    @pytest.mark.parametrize("limit", [5, None])
    def test_gen1_at_full_width_may_be_rest(self, limit: int | None) -> None:
        finding = self._with((1, 16, limit))
        assert (finding.verdict, finding.action) == ("unknown", "read_under_load")
        assert (finding.expected, finding.actual) == ("Gen5 x16", "Gen1 x16")
        assert "cannot tell rest from a fault" in finding.says

    @pytest.mark.parametrize("link", [(None, 16), (5, None), (None, None), ("5", 16), (True, 16)])
    def test_a_link_that_was_not_read_is_unknown(self, link: tuple[Any, ...]) -> None:
        finding = self._with(link)
        assert (finding.verdict, finding.entity) == ("unknown", "n1/gpu:5")
        assert finding.says == (
            "The PCIe link of GPU 5 of n1 cannot be read: the value is missing."
        )
        assert finding.action == "repeat"

    def test_the_readers_own_reason_is_told(self) -> None:
        problems = [
            {"code": "no_access", "says": "lspci hid the capabilities."},
            {"code": "missing_value", "says": "no LnkSta.", "entity": "gpu:5"},
        ]
        finding = self._with((None, None), quality="partial", problems=problems)
        assert "cannot be read: no LnkSta." in finding.says
        assert finding.action == "grant_access"
        finding = self._with((None, None), quality="partial", problems=problems[:1])
        assert "cannot be read: lspci hid the capabilities." in finding.says

    def test_gpus_that_are_not_seen_have_no_good_link(self) -> None:
        finding = _one(self.CHECK, _lspci("n1", FULL[:7]))
        assert (finding.verdict, finding.entity) == ("unknown", "n1")
        assert finding.says == (
            "Only 7 of 8 GPUs of n1 are seen (7 of them at Gen5 x16); "
            "the others' links cannot be judged."
        )

    def test_without_any_gpu_there_is_no_link(self) -> None:
        finding = _one(self.CHECK, _lspci("n1", []))
        assert (finding.verdict, finding.says) == (
            "unknown",
            "No GPU of n1 is seen, so no link can be judged.",
        )

    def test_a_gpu_behind_c2c_is_skipped_with_the_reason(self) -> None:
        finding = _one(self.CHECK, _lspci("n1", [(1, 1)] * 4), sku="gb200")
        assert finding.verdict == "skip"
        assert "NVLink-C2C" in finding.says


class TestKernelEqual:
    CHECK = "kernel_equal"

    def _fleet(self, *kernels: str | None) -> list[Finding]:
        names = [f"n{index}" for index in range(1, len(kernels) + 1)]
        evidence = {
            name: [_os(name, kernel)] for name, kernel in zip(names, kernels, strict=True) if kernel
        }
        return _judge(self.CHECK, evidence, _topology(*names))

    def test_all_equal(self) -> None:
        findings = self._fleet("6.1", "6.1", "6.1")
        assert {one.verdict for one in findings} == {"pass"}
        assert findings[0].says == "n1 has kernel 6.1, like 2 of the 2 others of h100-sxm."

    def test_the_minority_is_named(self) -> None:
        findings = self._fleet("6.1", "6.1", "6.8", "6.1")
        assert [one.verdict for one in findings] == ["pass", "pass", "fail", "pass"]
        bad = findings[2]
        assert bad.says == "n3 has kernel 6.8; 3 of 4 nodes of h100-sxm have 6.1."
        assert (bad.expected, bad.actual, bad.action) == ("6.1", "6.8", "bring_to_majority")
        assert bad.basis is not None
        assert (bad.basis.kind, bad.basis.ref) == (
            "peers",
            "4 nodes of h100-sxm: 6.1 on n[1-2,4] · 6.8 on n3",
        )

    def test_sixty_percent_is_a_majority_and_less_is_none(self) -> None:
        three_of_five = self._fleet("6.1", "6.1", "6.1", "6.8", "6.8")
        assert [one.verdict for one in three_of_five] == ["pass"] * 3 + ["fail"] * 2
        four_of_seven = self._fleet("6.1", "6.1", "6.1", "6.1", "6.8", "6.8", "6.8")
        assert {one.action for one in four_of_seven} == {"choose_one"}

    def test_a_tie_is_two_populations_and_nobody_is_the_majority(self) -> None:
        findings = self._fleet("6.8", "6.8", "6.1", "6.1")
        assert {one.verdict for one in findings} == {"fail"}
        assert {one.says for one in findings} == {
            "The 4 nodes of h100-sxm are two populations by kernel: 6.1 on n[3-4] · 6.8 on n[1-2]."
        }
        assert findings[0].expected == "one kernel on all nodes of h100-sxm"

    def test_three_kinds(self) -> None:
        assert "are 3 populations" in self._fleet("6.1", "6.8", "5.10")[0].says

    def test_a_single_node_is_skipped_with_the_reason(self) -> None:
        (finding,) = self._fleet("6.1")
        assert (finding.verdict, finding.says) == (
            "skip",
            "n1 is the only node of h100-sxm here; there is nothing to compare it with.",
        )

    def test_without_a_readable_peer_it_is_unknown(self) -> None:
        findings = self._fleet("6.1", None)
        assert [one.verdict for one in findings] == ["unknown", "unknown"]
        assert findings[0].says.startswith("No other node of h100-sxm could be read")

    def test_an_unreadable_node_does_not_spoil_the_others(self) -> None:
        findings = self._fleet("6.1", None, "6.1")
        assert [one.verdict for one in findings] == ["pass", "unknown", "pass"]

    def test_a_missing_value_is_unknown(self) -> None:
        finding = _one(self.CHECK, _os("n1", None))
        assert (finding.verdict, finding.says) == (
            "unknown",
            "The kernel of n1 cannot be read: the value is missing.",
        )
        problems = [
            {"code": "missing_value", "says": "osrelease is empty.", "field": "kernel_release"}
        ]
        finding = _one(self.CHECK, _os("n1", None, quality="partial", problems=problems))
        assert finding.says == "The kernel of n1 cannot be read: osrelease is empty."
        assert _one(self.CHECK, _document("os", [])).verdict == "unknown"

    def test_skus_are_compared_apart(self) -> None:
        topology = Topology.from_hostvars(
            {
                "a1": {"trackbed_sku": "b200"},
                "a2": {"trackbed_sku": "b200"},
                "n1": {"trackbed_sku": "h100-sxm"},
                "n2": {"trackbed_sku": "h100-sxm"},
            }
        )
        kernels = {"a1": "6.8", "a2": "6.8", "n1": "6.1", "n2": "6.1"}
        evidence = {name: [_os(name, kernel)] for name, kernel in kernels.items()}
        assert {one.verdict for one in _judge(self.CHECK, evidence, topology)} == {"pass"}

    def test_the_policy_changes_the_severity(self) -> None:
        policy = {self.CHECK: {"severity": "info"}}
        evidence = {"n1": [_os("n1", "6.1")], "n2": [_os("n2", "6.1")]}
        findings = _judge(self.CHECK, evidence, _topology("n1", "n2"), policy)
        assert {one.severity for one in findings} == {"info"}
