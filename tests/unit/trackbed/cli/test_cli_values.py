"""Values on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from trackbed.cli import values


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "bmc_password",
        "ansible_become_pass",
        "NGC_API_KEY",
        "registry_token",
        "munge_secret_key",
        "snmp_PASSPHRASE",
        "ipmi-pwd",
        "aws_secret_access_key",
    ],
)
def test_a_name_of_a_secret_is_recognised(key: str) -> None:
    assert values.looks_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "ansible_ssh_private_key_file",
        "vault_password_file",
        "kernel_tuning_sysctl",
        "passthrough",
        "tokenizer",
        "secret_name",
        "compass",
        "keyboard",
        "",
    ],
)
def test_a_name_that_only_resembles_one_is_not(key: str) -> None:
    assert not values.looks_secret(key)


def test_a_secret_in_an_argument_is_refused_with_the_way_out() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="ansible-vault encrypt"):
        values.extra_variable("bmc_password=hunter2")


def test_a_refusal_does_not_repeat_the_secret() -> None:
    for argument in ("bmc_password=hunter2", "proxy=http://user:hunter2@proxy:3128/"):
        with pytest.raises(argparse.ArgumentTypeError) as caught:
            values.extra_variable(argument)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["novalue", "=x", "1a=2", "a b=c", '{"a": 1}', ""])
def test_neither_pair_nor_file_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="KEY=VALUE nor @FILE"):
        values.extra_variable(text)


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("a=1", "a=1"),
        ("url=https://example.org/x?y=1", '{"url": "https://example.org/x?y=1"}'),
        ("a=1 password=x", '{"a": "1 password=x"}'),
        ("a=", "a="),
        ('a="q"', '{"a": "\\"q\\""}'),
    ],
)
def test_a_pair_reaches_ansible_as_the_same_string(text: str, argument: str) -> None:
    assert values.extra_variable(text).as_argument() == argument


def test_a_file_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v.yml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    given = values.extra_variable("@v.yml")
    assert values.extra_arguments([given]) == ["-e", f"@{tmp_path}/v.yml"]
    assert values.variables([given, values.extra_variable("b=2")]) == {"b": "2"}


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no file 'nowhere"):
        values.extra_variable("@nowhere.yml")


def test_allowed_kinds_come_once_and_in_order() -> None:
    assert values.allowed_kinds("reboot, reload,reboot") == ("reload", "reboot")


def test_an_unknown_kind_names_the_known() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="unknown kind rebot; known are driver"):
        values.allowed_kinds("reload,rebot")


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="empty"):
        values.words(" , ")


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "", "²"])
def test_only_whole_numbers_above_zero(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="whole number"):
        values.positive(text)


def test_a_vault_source_is_a_file_and_never_a_prompt(tmp_path: Path) -> None:
    place = tmp_path / "pw"
    place.write_text("x")
    assert values.vault_source(f"site@{place}") == f"site@{place}"
    assert values.vault_source(str(place)) == str(place)
    with pytest.raises(argparse.ArgumentTypeError, match="no terminal"):
        values.vault_source("site@prompt")
