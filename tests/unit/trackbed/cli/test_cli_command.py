"""The equivalent plain command."""

from __future__ import annotations

import shlex
from pathlib import Path

from trackbed import config
from trackbed.cli import command, parser


def line(*argv: str, sources: tuple[str, ...] = ("/site",)) -> list[str]:
    args = parser.build().parse_args(argv)
    return command.line(args.verb, args, config.load(args, {}), sources)


def test_the_least() -> None:
    assert line("facts") == [
        *("ansible-playbook", "trackbed.cluster.facts", "-i", "/site", "--forks", "20"),
    ]


def test_everything(tmp_path: Path) -> None:
    secret = tmp_path / "pw"
    secret.write_text("hunter2")
    found = line(
        *("up", "--limit", "a:!b", "--tags", "kernel_tuning,x", "--check", "--diff"),
        *("--forks", "3", "-e", "k=v", "-e", f"@{secret}", "--allow", "reboot,reload"),
        *("--vault-id", f"s@{secret}", "--vault-password-file", str(secret)),
        *("--become-password-file", str(secret), "-vvv"),
    )
    assert found == [
        *("ansible-playbook", "trackbed.cluster.up", "-i", "/site", "--forks", "3"),
        *("--limit", "a:!b", "--tags", "kernel_tuning,x", "--check", "--diff"),
        *("--vault-id", f"s@{secret}", "--vault-password-file", str(secret)),
        *("-e", "k=v", "-e", f"@{secret}", "-e", '{"trackbed_allow": ["reload", "reboot"]}'),
        *("--become-password-file", str(secret), "-vv"),
    ]
    assert "hunter2" not in " ".join(found)


def test_a_list_of_hosts_stays_one() -> None:
    assert line("facts", sources=("a,b", "c,"))[2:6] == ["-i", "a,b,", "-i", "c,"]


def test_the_pattern_of_the_plays() -> None:
    build = parser.build()
    assert command.pattern(build.parse_args(["facts"])) == "all"
    assert command.pattern(build.parse_args(["facts", "-e", "trackbed_hosts=gpu"])) == "gpu"
    assert command.pattern(build.parse_args(["status"])) == "all"


def test_the_text_is_for_a_shell() -> None:
    env = command.environment("/j db", "/c")
    text = command.as_text(["ansible-playbook", "--limit", "a:!b"], env)
    assert shlex.split(text) == [
        "ANSIBLE_COLLECTIONS_PATH=/c",
        "ANSIBLE_CALLBACKS_ENABLED=trackbed.cluster.journal",
        "TRACKBED_JOURNAL=/j db",
        *("ansible-playbook", "--limit", "a:!b"),
    ]
    assert "TRACKBED_JOURNAL" not in command.environment(None, "/c")
