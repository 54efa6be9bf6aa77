from __future__ import annotations

import re
import textwrap
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Basis, Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

from trackbed import report
from trackbed.report import render_table

SPEC = Basis("spec", "h100-sxm.pcie_gen: data sheet")


def _topology(*names: str) -> Topology:
    return Topology.from_hostvars({name: {"trackbed_sku": "h100-sxm"} for name in names})


def _nodes(count: int) -> list[str]:
    return [f"gpu-{number:03}" for number in range(1, count + 1)]


def _finding(
    check: str, entity: str, verdict: str = "pass", says: str = "Good.", **more: Any
) -> Finding:
    return Finding(check, entity, verdict, more.pop("severity", "critical"), says, **more)


def _passes(nodes: list[str], *checks: str) -> list[Finding]:
    return [_finding(check, node) for check in checks for node in nodes]


def _slow(node: str, gpu: int = 5) -> Finding:
    return _finding(
        "gpu_pcie_link",
        f"{node}/gpu:{gpu}",
        "fail",
        f"GPU {gpu} of {node} trained its PCIe link at Gen4 instead of Gen5.",
        expected="Gen5 x16",
        actual="Gen4 x16",
        basis=SPEC,
        action="correct_sku",
    )


def _render(
    findings: list[Finding], nodes: list[str], width: int = 88, colour: bool = False
) -> str:
    return render_table(findings, _topology(*nodes), colour=colour, width=width)


def _is(text: str, wanted: str) -> None:
    assert text == textwrap.dedent(wanted).lstrip("\n")


def test_level() -> None:
    nodes = _nodes(4)
    _is(
        _render(_passes(nodes, "gpu_count", "gpu_pcie_link", "kernel_equal"), nodes),
        """
        gpu-[001-004]: level. 3 of 3 checks passed.

        4 nodes, 3 checks: 12 pass.

        node           gpu_count  gpu_pcie_link  kernel_equal
        gpu-[001-004]  pass       pass           pass
        """,
    )


def test_level_with_a_check_that_was_skipped() -> None:
    skipped = _finding("kernel_equal", "gpu-001", "skip", "gpu-001 is the only node here.")
    _is(
        _render([*_passes(["gpu-001"], "gpu_count"), skipped], ["gpu-001"]),
        """
        gpu-001: level. 1 of 2 checks passed, 1 skipped.

        1 node, 2 checks: 1 pass, 1 skip.

        node     gpu_count  kernel_equal
        gpu-001  pass       skip

        skip  kernel_equal: gpu-001 is the only node here.
        """,
    )


def test_one_bad_gpu() -> None:
    nodes = _nodes(4)
    rest = [node for node in nodes if node != "gpu-002"]
    findings = [
        *_passes(nodes, "gpu_count"),
        _slow("gpu-002"),
        *_passes(rest, "gpu_pcie_link"),
        *_passes(nodes, "kernel_equal"),
    ]
    _is(
        _render(findings, nodes),
        """
        NOT LEVEL: GPU 5 of gpu-002 trained its PCIe link at Gen4 instead of Gen5.

        4 nodes, 3 checks: 1 fail, 11 pass.

        node               gpu_count  gpu_pcie_link  kernel_equal
        gpu-002            pass       FAIL           pass
        gpu-[001,003-004]  pass       pass           pass

        FAIL  gpu_pcie_link  (critical)
          what      GPU 5 of gpu-002 trained its PCIe link at Gen4 instead of Gen5.
          expected  Gen5 x16
          actual    Gen4 x16
          basis     spec: h100-sxm.pcie_gen: data sheet
          to do     Correct the SKU of this node in the cluster file, or take out the GPUs that
                    do not belong into it.
        """,
    )


def test_findings_that_say_the_same_share_a_paragraph() -> None:
    nodes = _nodes(3)
    findings = [_slow(node, gpu) for node in nodes[:2] for gpu in (0, 1, 2)] + [_slow("gpu-003", 7)]
    text = _render(findings, nodes)
    assert text.startswith(
        "NOT LEVEL: GPU 0 of gpu-001 trained its PCIe link at Gen4 instead of Gen5. The same on 6"
        "\nmore.\n"
    )
    assert text.count("FAIL  gpu_pcie_link") == 1
    assert "Gen4 instead of Gen5. (6 more like it)" in " ".join(text.split())
    assert "  where     gpu:[0-2] of gpu-[001-002], gpu:7 of gpu-003\n" in text


def test_a_sentence_about_a_whole_group_is_said_once() -> None:
    nodes = _nodes(4)
    says = "The 4 nodes of x are two populations by kernel: a on gpu-[001-002], b on gpu-[003-004]"
    findings = [
        _finding("kernel_equal", node, "fail", says, expected="one kernel", severity="major")
        for node in nodes
    ]
    text = _render(findings, nodes, width=120)
    assert text.splitlines()[0] == f"NOT LEVEL: {says}"
    assert "more like it" not in text
    assert "  where     gpu-[001-004]\n" in text
    assert text.count(says) == 2


def test_a_node_without_evidence_is_one_paragraph_for_all_checks() -> None:
    nodes = _nodes(2)
    silent = [
        _finding(check, "gpu-002", "unknown", "gpu-002 gave no evidence.", action="reach_node")
        for check in ("gpu_count", "kernel_equal")
    ]
    _is(
        _render([*_passes(["gpu-001"], "gpu_count", "kernel_equal"), *silent], nodes),
        """
        UNKNOWN: gpu-002 gave no evidence.

        2 nodes, 2 checks: 2 unknown, 2 pass.

        node     gpu_count  kernel_equal
        gpu-002  unknown    unknown
        gpu-001  pass       pass

        UNKNOWN  gpu_count, kernel_equal
          what   gpu-002 gave no evidence.
          to do  Check that the node is up and that ansible reaches it (ansible -m ping), then
                 validate again.
        """,
    )


def test_a_node_that_no_check_spoke_of_is_unknown_not_pass() -> None:
    text = _render(_passes(["gpu-001"], "gpu_count"), ["gpu-001", "gpu-002"])
    assert "gpu-002  unknown" in text
    assert "2 nodes, 1 check: 1 unknown, 1 pass." in text


def test_nothing_judged_and_everything_skipped_are_not_level() -> None:
    assert _render([], ["gpu-001"]) == "UNKNOWN: nothing was judged.\n"
    assert _render(_passes(["a"], "c"), []) == "UNKNOWN: nothing was judged.\n"
    text = _render([_finding("c", "gpu-001", "skip", "Switched off.")], ["gpu-001"])
    assert text.startswith("UNKNOWN: every check was skipped, so nothing was proved.\n")


def test_the_worst_comes_first() -> None:
    nodes = _nodes(3)
    findings = [
        _finding("a", "gpu-001", "unknown", "Who knows."),
        _finding("b", "gpu-002", "warn", "Beware.", severity="critical"),
        _finding("c", "gpu-003", "fail", "Minor.", severity="minor"),
        _finding("d", "gpu-001", "fail", "Major.", severity="major"),
    ]
    text = _render(findings, nodes)
    assert re.findall(r"(?m)^(FAIL|WARN|UNKNOWN)  (\w)", text) == [
        ("FAIL", "d"),
        ("FAIL", "c"),
        ("WARN", "b"),
        ("UNKNOWN", "a"),
    ]
    assert text.startswith("NOT LEVEL: Major. And 3 more findings.\n")


def test_a_finding_that_a_role_can_mend_says_so() -> None:
    remedy = {"role": "kernel_tuning", "variable": "kernel_tuning_sysctl"}
    finding = _finding("a", "gpu-001", "fail", "Wrong.", remedy=remedy, action="unknown_action")
    text = _render([finding], ["gpu-001"])
    assert "  mend   role kernel_tuning, variable kernel_tuning_sysctl\n" in text
    assert "  to do  unknown_action\n" in text


def test_a_link_belongs_to_both_its_nodes() -> None:
    text = _render([_finding("a", "link:gpu-001/nic:0--gpu-002/nic:0", "fail", "Slow.")], _nodes(2))
    assert "gpu-[001-002]  FAIL" in text


def test_colour_only_where_asked_and_the_text_is_the_same() -> None:
    nodes = _nodes(2)
    findings = [_slow("gpu-002"), *_passes(["gpu-001"], "gpu_pcie_link")]
    coloured = _render(findings, nodes, colour=True)
    assert "\x1b[31mFAIL\x1b[0m" in coloured
    assert "\x1b[32mpass\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == _render(findings, nodes)
    assert "\x1b" not in _render(findings, nodes)


def test_many_checks_in_a_narrow_terminal() -> None:
    nodes = _nodes(2)
    checks = [f"check_number_{number:02}" for number in range(12)]
    findings = _passes(nodes, *checks)
    assert "12 checks: pass on all nodes.\n" in _render(findings, nodes, width=60)
    findings[0] = _finding(checks[0], "gpu-001", "fail", "Wrong.")
    text = _render(findings, nodes, width=60)
    assert "11 other checks: pass on all nodes.\n" in text
    assert "check_number_11" not in text
    findings = [_finding(check, "gpu-001", "fail", f"Wrong {check}.") for check in checks]
    text = _render(findings, nodes, width=60)
    assert text.count("\nnode ") == 4
    assert "pass on all" not in text


def test_what_all_nodes_skipped_for_one_reason_is_one_line() -> None:
    nodes = _nodes(2)
    checks = [f"check_number_{number:02}" for number in range(12)]
    findings = _passes(nodes, *checks[:2])
    findings += [
        _finding(one, node, "skip", f"Not on {node}.") for one in checks[2:] for node in nodes
    ]
    text = _render(findings, nodes, width=60)
    assert "2 checks: pass on all nodes.\n10 checks: skipped on all nodes.\n" in text
    assert text.count("skip  ") == 1
    assert "10 checks (check_number_02, check_number_03," in text
    assert "(1 more like it)" in text
    findings[0] = _finding(checks[0], nodes[0], "skip", f"Not on {nodes[0]}.")
    assert "2 checks: pass on all nodes, or skipped.\n" in _render(findings, nodes, width=60)


def test_every_line_fits_the_width() -> None:
    nodes = _nodes(40)
    findings = [_slow(node, int(node[-1])) for node in nodes]
    for width in (20, 60, 100):
        longest = max(len(line) for line in _render(findings, nodes, width=width).splitlines())
        assert longest <= max(width, 60)


def test_a_thousand_nodes_stay_readable() -> None:
    nodes = _nodes(1000)
    findings = []
    for place, node in enumerate(nodes):
        findings += _passes([node], "gpu_count", "kernel_equal")
        findings.append(_slow(node) if place % 37 == 0 else _finding("gpu_pcie_link", node))
    text = _render(findings, nodes)
    assert len(text.splitlines()) < 25
    assert "1,000 nodes, 3 checks: 28 fail, 2,972 pass." in text
    assert "(28 nodes)" in text
    assert "(972 nodes)" in text


def test_what_is_left_out_is_counted() -> None:
    nodes = _nodes(60)
    checks = [f"c{bit}" for bit in range(6)]
    findings = []
    for number, node in enumerate(nodes, 1):
        for bit, check in enumerate(checks):
            bad = number >> bit & 1
            says = f"{check} has the value {number}."
            findings.append(
                _finding(check, node, "fail", says, actual=str(number))
                if bad
                else _finding(check, node)
            )
    text = _render(findings, nodes)
    assert f"… and {60 - report.MAX_ROWS} more nodes, none worse than these.\n" in text
    left = sum(one.verdict == "fail" for one in findings) - report.MAX_BLOCKS
    assert f"… and {left} more findings; `trackbed report --json` has all of them.\n" in text


def test_reasons_to_skip_are_told_once() -> None:
    nodes = _nodes(3)
    findings = _passes(nodes, "a")
    findings += [
        _finding("b", node, "skip", f"Not judged on {node}: no such link.") for node in nodes
    ]
    findings += [_finding("c", node, "skip", "Switched off.") for node in nodes]
    text = _render(findings, nodes)
    assert text.endswith(
        "skip  b: Not judged on gpu-001: no such link. (2 more like it)\nskip  c: Switched off.\n"
    )
