"""The verb drift: what is said, what is returned, and what is refused before a node is touched."""

from __future__ import annotations

from test_cli_verbs import Player, Shell, documents, read, shell

__all__ = ["shell"]


def with_bios(version: str) -> Player:
    results = read()
    for document in results["gpu-2"]["trackbed_evidence"]:
        if document["source"] == "dmidecode":
            document["entities"][0]["values"]["bios_version"] = version
    return Player(facts=results)


def test_alike_nodes(shell: Shell) -> None:
    code, document = shell(Player(facts=read()), "drift")
    assert (code, document["bundles"], document["changes"]) == (0, [], [])
    assert "2 nodes: alike in all that was read." in shell.text(Player(facts=read()), "drift")[1]


def test_two_nodes_that_differ_are_a_split(shell: Shell) -> None:
    code, document = shell(with_bios("1.4"), "drift")
    assert code == 3
    (bundle,) = document["bundles"]
    assert (bundle["against"], bundle["odd"]) == ("split", ["gpu-2", "gpu-1"])
    text = shell.text(with_bios("1.4"), "drift")[1]
    assert "2 nodes differ in 1 fact: 1 split without a majority." in text
    assert "dmidecode: bios_version [gpu-2: 1.4 · gpu-1: 1.6]" in text


def test_the_golden_node_says_who_is_wrong(shell: Shell) -> None:
    code, document = shell(with_bios("1.4"), "drift", "--golden", "gpu-1")
    (bundle,) = document["bundles"]
    assert (code, bundle["against"], bundle["odd"]) == (3, "golden", ["gpu-2"])
    text = shell.text(with_bios("1.4"), "drift", "--golden", "gpu-1")[1]
    assert "gpu-2: not as the golden, 1 fact" in text


def test_what_changed_since_an_earlier_run(shell: Shell) -> None:
    _, first = shell(Player(facts=read()), "facts")
    code, document = shell(with_bios("1.4"), "drift", "--since", first["run"])
    assert code == 3
    (change,) = document["changes"]
    assert (change["before"], change["after"], change["nodes"]) == ("1.6", "1.4", ["gpu-2"])
    text = shell.text(with_bios("1.4"), "drift", "--since", first["run"])[1]
    assert "dmidecode: bios_version: 1.6 -> 1.4 on gpu-2" in text


def test_a_node_that_was_not_read_is_named(shell: Shell) -> None:
    results = read()
    results["gpu-2"]["trackbed_evidence"] = documents("gpu-2", "timeout")
    code, document = shell(Player(facts=results), "drift")
    assert code == 4
    assert document["unread"] == ["gpu-2"]
    assert "not read: gpu-2" in shell.text(Player(facts=results), "drift")[1]


def test_what_is_refused_before_a_node_is_touched(shell: Shell) -> None:
    shell(Player(facts=read()), "facts")
    for arguments, says in (
        (("--golden", "gpu-3"), "'gpu-3' is none of those"),
        (("--since", "nothing"), "there is no run 'nothing'"),
    ):
        player = Player(facts=read())
        code, document = shell(player, "drift", *arguments)
        assert code == 2
        assert says in document["error"]["found"]
        assert player.jobs == []


def test_the_plain_command_reads_the_facts(shell: Shell) -> None:
    code, document = shell(Player(), "drift", "--show")
    assert code == 0
    assert "trackbed.cluster.facts" in document["command"]
