"""Take away what netavark leaves in the host's firewall after its last network has gone.

Pure: the rules before the first lab and after the last one in, commands out. Podman removes its
networks' own rules, but keeps its chains, and the tables that it made for them, until the boot.
"""

from __future__ import annotations

import re

_OURS = re.compile(r"NETAVARK[_-]\S*")


def parse(rules: str) -> dict[str, list[str]]:
    """Return the lines of each table of `iptables-save`."""
    tables: dict[str, list[str]] = {}
    table = ""
    for line in rules.splitlines():
        if line.startswith("*"):
            table = line[1:].strip()
            tables[table] = []
        elif table and line.startswith((":", "-")):
            tables[table].append(line.strip())
    return tables


def removal(program: str, before: str, after: str) -> list[list[str]]:
    """Return the commands that take away chains of netavark that `before` does not have.

    `program` is iptables or ip6tables. A chain that still sends traffic of some network on is left.
    """
    commands: list[list[str]] = []
    old = parse(before)
    for table, lines in parse(after).items():
        rules = [line for line in lines if line.startswith("-A ")]
        known = {_chain(line) for line in old.get(table, []) if line.startswith(":")}
        chains = [_chain(line) for line in lines if line.startswith(":")]
        gone = [name for name in chains if _OURS.fullmatch(name) and name not in known]
        for words in map(_words, rules):
            if words[1] not in gone and _jumps_to(words, gone):
                commands.append([program, "-t", table, "-D", *words[1:]])
        commands += [[program, "-t", table, "-F", name] for name in gone]
        commands += [[program, "-t", table, "-X", name] for name in gone]
    return commands


def empty_tables(family: str, before: str, after: str) -> list[list[str]]:
    """Return the commands that delete tables which `before` lacks and which hold nothing.

    `family` is nft's: ip or ip6. Only iptables on top of nftables makes tables that can go.
    """
    old = parse(before)
    return [
        ["nft", "delete", "table", family, table]
        for table, lines in parse(after).items()
        if table not in old and all(line.startswith(":") and " ACCEPT " in line for line in lines)
    ]


def _chain(line: str) -> str:
    return line[1:].split(maxsplit=1)[0]


def _jumps_to(words: list[str], names: list[str]) -> bool:
    return "-j" in words and words[words.index("-j") + 1] in names


def _words(line: str) -> list[str]:
    """Return the words of a rule; iptables-save puts comments in double quotes."""
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)]
