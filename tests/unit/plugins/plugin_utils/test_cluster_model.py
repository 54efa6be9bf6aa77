from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils._cluster import (
    Cluster,
    ClusterError,
    from_record,
    parse_cluster,
    to_record,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import load
from ansible_collections.trackbed.cluster.plugins.plugin_utils._source import Source

HEAD = "plugin: trackbed.cluster.cluster\ncluster: atlas\n"


def _parse(text: str) -> Cluster:
    return parse_cluster(yaml.safe_load(text), Source("a.trackbed.yml", text), load(), ("compose",))


def _file(nodes: str) -> str:
    return HEAD + "nodes:\n" + textwrap.indent(textwrap.dedent(nodes).strip("\n"), "  ")


def test_ranges_lists_skus_and_variables() -> None:
    cluster = _parse(
        _file(
            """
            - names: gpu-[01:02]
              sku: h100-sxm
              vars: {ansible_user: deploy, rack: 7}
            - {names: [big-1, "b[1:2]"], sku: b200}
            """
        )
    )
    assert [(n.name, n.sku, n.entry) for n in cluster.nodes] == [
        ("gpu-01", "h100-sxm", 0),
        ("gpu-02", "h100-sxm", 0),
        ("big-1", "b200", 1),
        ("b1", "b200", 1),
        ("b2", "b200", 1),
    ]
    assert dict(cluster.nodes[0].variables) == {"ansible_user": "deploy", "rack": 7}
    assert cluster.journal == "atlas.journal.sqlite"


def test_the_journal_is_kept_as_written() -> None:
    assert _parse(_file("- {names: a, sku: b200}") + "\njournal: ../j.db").journal == "../j.db"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a.trackbed.yml: found nothing; wanted: a mapping with cluster and nodes"),
        ("- 1", "a.trackbed.yml:1: found list; wanted: a mapping"),
        (HEAD + "nods: []", "a.trackbed.yml:3: unknown key 'nods'; wanted: did you mean 'nodes'"),
        ("nodes: []", "a.trackbed.yml:1: `cluster` is missing"),
        ("cluster: Atlas\nnodes: []", "a.trackbed.yml:1: cluster: 'Atlas'; wanted: a name of"),
        ("cluster: 7\nnodes: []", "cluster: 7; wanted: a name of"),
        (HEAD + "journal: 3\nnodes: []", "a.trackbed.yml:3: journal: 3; wanted: the path"),
        (HEAD, "a.trackbed.yml:1: `nodes` is missing"),
        (HEAD + "nodes: []", "a.trackbed.yml:3: nodes: no list of node groups; wanted: - names"),
        (HEAD + "nodes: gpu", "a.trackbed.yml:3: nodes: no list"),
        (_file("- gpu-1"), "a.trackbed.yml:4: found str; wanted: a mapping: names"),
        (_file("- names: a\n  skuu: b200"), "a.trackbed.yml:5: unknown key 'skuu'"),
        (_file("- names: a"), "a.trackbed.yml:4: `sku` is missing"),
        (_file("- sku: b200"), "a.trackbed.yml:4: `names` is missing"),
        (_file("- names: a\n  sku: h100"), "a.trackbed.yml:5: unknown SKU 'h100'; wanted: did you"),
        (_file("- names: a\n  sku: [b200]"), "unknown SKU"),
        (_file("- names: []\n  sku: b200"), "a.trackbed.yml:4: names: an empty list"),
        (_file("- names: [a, 12]\n  sku: b200"), "names: 12; wanted: text; put the name in quotes"),
        (_file("- sku: b200\n  names: n[1-3]"), "a.trackbed.yml:5: names: 'n.1-3.': .1-3. is not"),
        (_file("- names: a\n  sku: b200\n  vars: [1]"), "a.trackbed.yml:6: found list; wanted: a"),
        (_file("- names: a\n  sku: b200\n  vars:\n    a-b: 1"), ":7: vars: 'a-b' cannot be"),
        (_file("- names: a\n  sku: b200\n  vars: {1: 1}"), "vars: 1 cannot be a variable"),
        (
            _file("- names: a\n  sku: b200\n  vars: {trackbed_sku: x}"),
            "trackbed_sku is set from this file's own keys; .* take trackbed_sku out of vars",
        ),
        (
            _file(
                """
                - names: gpu-[01:04]
                  sku: b200
                - sku: b200
                  names:
                    - head
                    - gpu-[04:08]
                """
            ),
            "a.trackbed.yml:9: node gpu-04 is named twice, first in a.trackbed.yml:4; wanted: each "
            "node once; take it out of one of the two ranges",
        ),
        (_file("- names: n[1:999999]\n  sku: b200"), "stands for 999,999 names, more than 250,000"),
        (
            _file('- names: ["a[1:200000]", "b[1:200000]"]\n  sku: b200'),
            "more than 250,000 nodes; .* check the ends",
        ),
    ],
)
def test_every_refusal_says_where_what_and_what_to_do(text: str, says: str) -> None:
    with pytest.raises(ClusterError, match=says):
        _parse(text)


def test_keys_of_the_inventory_plugin_are_let_through() -> None:
    text = _file("- {names: a, sku: b200}") + "\ncompose: {x: '1'}"
    assert len(_parse(text).nodes) == 1
    with pytest.raises(ClusterError, match="unknown key 'compose'"):
        parse_cluster(yaml.safe_load(text), Source("f", text), load())


def test_the_cached_record_is_plain_and_holds_no_variables() -> None:
    text = _file(
        "- {names: 'a[1:2]', sku: b200, vars: {password: secret}}\n- {names: b, sku: gb200}"
    )
    raw: dict[str, Any] = yaml.safe_load(text)
    cluster = _parse(text)
    record = to_record(cluster)
    assert "secret" not in str(record)
    assert from_record(record, raw) == cluster


class TestSource:
    TEXT = "a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n"

    @pytest.mark.parametrize(
        ("keys", "line"),
        [
            ((), 1),
            (("b",), 2),
            (("b", 0), 3),
            (("b", 1, "d"), 5),
            (("b", 7), 2),
            (("a", "deeper"), 1),
            (("nowhere",), 1),
        ],
    )
    def test_line(self, keys: tuple[str | int, ...], line: int) -> None:
        assert Source("f", self.TEXT).line(*keys) == line

    @pytest.mark.parametrize("text", ["a: [", "", "$ANSIBLE_VAULT;1.1;AES256\n: :"])
    def test_without_places_there_is_still_the_file(self, text: str) -> None:
        assert Source("f", text).at("a") == "f"

    def test_unknown_tags_do_not_matter(self) -> None:
        assert Source("f", "a: !vault |\n  x\nb: 1\n").at("b") == "f:3"

    def test_digest_depends_on_text_and_on_what_else_is_named(self) -> None:
        digests = {
            Source("f", "a").digest(),
            Source("f", "b").digest(),
            Source("f", "a").digest("x"),
        }
        assert len(digests) == 3
        assert Source("g", "a").digest() in digests
