from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader
from ansible.template import is_trusted_as_template

NAME = "trackbed.cluster.cluster"
EXAMPLES = Path(__file__).resolve().parents[4] / "inventory" / "examples"
TEXT = """\
plugin: trackbed.cluster.cluster
cluster: atlas
journal: state/atlas.sqlite
nodes:
  - names: gpu-[001:002]
    sku: h100-sxm
    vars:
      ansible_user: deploy
      greeting: "{{ inventory_hostname }} here"
      raw: !unsafe "{{ left alone }}"
  - names: big-1
    sku: b200
"""


def _write(tmp_path: Path, text: str, name: str = "atlas.trackbed.yml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def _read(path: Path) -> InventoryData:
    manager = InventoryManager(loader=DataLoader(), sources=[str(path)])
    data: InventoryData = manager._inventory
    return data


def _parse(path: Path) -> InventoryData:
    """Parse with the plugin itself, so that its error is seen as it is."""
    data, plugin = InventoryData(), inventory_loader.get(NAME)
    plugin.parse(data, DataLoader(), str(path), cache=True)
    return data


def _groups(data: InventoryData, host: str) -> set[str]:
    return {group.name for group in data.get_host(host).get_groups()} - {"all"}


def test_hosts_groups_and_variables(tmp_path: Path) -> None:
    data = _read(_write(tmp_path, TEXT))
    assert list(data.hosts) == ["gpu-001", "gpu-002", "big-1"]
    assert _groups(data, "gpu-002") == {"trackbed", "sku_h100_sxm"}
    assert _groups(data, "big-1") == {"trackbed", "sku_b200"}
    found = data.get_host("gpu-001").get_vars()
    assert found["trackbed_sku"] == "h100-sxm"
    assert found["trackbed_cluster"] == "atlas"
    assert found["trackbed_journal"] == str(tmp_path / "state" / "atlas.sqlite")
    assert found["ansible_user"] == "deploy"
    assert "ansible_user" not in data.get_host("big-1").get_vars()


def test_only_the_users_own_strings_are_templates(tmp_path: Path) -> None:
    found = _read(_write(tmp_path, TEXT)).get_host("gpu-001").get_vars()
    assert is_trusted_as_template(found["greeting"])
    assert not is_trusted_as_template(found["raw"])


def test_an_absolute_journal_and_one_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    absolute = _read(_write(tmp_path, TEXT.replace("state/", "/var/lib/")))
    assert absolute.get_host("big-1").get_vars()["trackbed_journal"] == "/var/lib/atlas.sqlite"
    home = _read(_write(tmp_path, TEXT.replace("state/", "~/")))
    assert home.get_host("big-1").get_vars()["trackbed_journal"] == "/home/someone/atlas.sqlite"


def test_constructed_features(tmp_path: Path) -> None:
    data = _read(
        _write(
            tmp_path,
            TEXT
            + """
compose: {ansible_host: "'10.0.0.' ~ (inventory_hostname[-1:])"}
groups: {fast: "trackbed_sku == 'b200'"}
keyed_groups: [{key: ansible_host, prefix: at}]
strict: true
""",
        )
    )
    assert data.get_host("gpu-002").get_vars()["ansible_host"] == "10.0.0.2"
    assert _groups(data, "big-1") == {"trackbed", "sku_b200", "fast", "at_10_0_0_1"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.trackbed.yml", True),
        ("a.trackbed.yaml", True),
        ("a.yml", False),
        ("trackbed.yml", False),
    ],
)
def test_only_cluster_files_are_taken(tmp_path: Path, name: str, wanted: bool) -> None:
    assert inventory_loader.get(NAME).verify_file(str(_write(tmp_path, TEXT, name))) is wanted


def test_a_file_that_is_not_there_is_not_taken(tmp_path: Path) -> None:
    assert not inventory_loader.get(NAME).verify_file(str(tmp_path / "a.trackbed.yml"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("sku: b200", "sku: b20", r"atlas.trackbed.yml:12: unknown SKU 'b20'.*did you mean 'b200'"),
        ("cluster: atlas\n", "", r"atlas.trackbed.yml:1: `cluster` is missing"),
        ("nodes:", "nodess:", r"atlas.trackbed.yml:4: unknown key 'nodess'"),
        ("big-1", "gpu-002", r"atlas.trackbed.yml:11: node gpu-002 is named twice"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(AnsibleParserError, match=says):
        _parse(_write(tmp_path, TEXT.replace(old, new)))


def test_what_only_ansible_refuses_stays_ansibles_own_error(tmp_path: Path) -> None:
    with pytest.raises(AnsibleParserError, match="Incorrect plugin name"):
        _parse(_write(tmp_path, TEXT.replace("plugin: trackbed.cluster.cluster", "plugin: other")))


class TestCache:
    @pytest.fixture
    def cached(self, tmp_path: Path) -> str:
        where = tmp_path / "cache"
        return f"{TEXT}cache: true\ncache_plugin: jsonfile\ncache_connection: {where}\n"

    @staticmethod
    def _calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        plugin = inventory_loader.get(NAME)
        module = __import__(type(plugin).__module__, fromlist=["parse_cluster"])
        calls, real = [], module.parse_cluster

        def counted(*args: Any) -> Any:
            calls.append(args)
            return real(*args)

        monkeypatch.setattr(module, "parse_cluster", counted)
        return calls

    def test_an_unchanged_file_is_checked_once_and_an_edited_one_again(
        self, tmp_path: Path, cached: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = self._calls(monkeypatch)
        path = _write(tmp_path, cached)
        first = _parse_and_store(path)
        second = _parse_and_store(path)
        assert len(calls) == 1
        assert list(first.hosts) == list(second.hosts)
        assert second.get_host("gpu-001").get_vars()["ansible_user"] == "deploy"
        third = _parse_and_store(_write(tmp_path, cached.replace("001:002", "001:003")))
        assert len(calls) == 2
        assert "gpu-003" in third.hosts

    def test_no_variable_is_written_to_the_cache(self, tmp_path: Path, cached: str) -> None:
        _parse_and_store(_write(tmp_path, cached))
        written = [one.read_text() for one in (tmp_path / "cache").iterdir()]
        assert written and "gpu-001" in written[0]
        assert "deploy" not in "".join(written)

    def test_a_refresh_does_not_read_the_cache(
        self, tmp_path: Path, cached: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = self._calls(monkeypatch)
        path = _write(tmp_path, cached)
        _parse_and_store(path)
        _parse_and_store(path, cache=False)
        assert len(calls) == 2


def _parse_and_store(path: Path, cache: bool = True) -> InventoryData:
    data, plugin = InventoryData(), inventory_loader.get(NAME)
    plugin.parse(data, DataLoader(), str(path), cache=cache)
    plugin.update_cache_if_changed()  # the inventory manager does so after each parse
    return data


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*.trackbed.yml")), ids=lambda path: path.name
)
def test_the_examples_are_good(path: Path) -> None:
    data = _parse(path)
    assert len(data.hosts) > 1
    assert all(host.get_vars()["trackbed_sku"] for host in data.hosts.values())


def test_ten_thousand_nodes(tmp_path: Path) -> None:
    text = TEXT.replace("gpu-[001:002]", "gpu-[00001:10000]")
    assert len(_read(_write(tmp_path, text)).hosts) == 10_001
