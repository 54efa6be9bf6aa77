# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster
author:
  - The Trackbed developers (@trackbed)
version_added: 0.1.0
short_description: Nodes of a GPU cluster from one cluster file
description:
  - Reads a cluster file, which says in a few lines which nodes there are and what each is built of.
  - Every node gets the variables C(trackbed_sku), C(trackbed_cluster) and C(trackbed_journal) (an
    absolute path), and is in the groups C(trackbed) and C(sku_<sku>), with underscores for the
    hyphens of the SKU.
  - Anything in the file that cannot be right is refused with its file, line and remedy. These are
    keys that nobody reads, unknown SKUs, malformed ranges and nodes that are named twice.
  - The file's name must end in C(.trackbed.yml) or C(.trackbed.yaml).
notes:
  - By default, Ansible only warns about an inventory that it cannot read, and goes on without its
    hosts. Set C(any_unparsed_is_failed) in the C([inventory]) section of C(ansible.cfg) to stop
    instead.
extends_documentation_fragment:
  - constructed
  - inventory_cache
options:
  plugin:
    description: Says that the file belongs to this plugin.
    type: str
    required: true
    choices: [trackbed.cluster.cluster]
  cluster:
    description:
      - Name of the cluster, of lower-case letters, digits and inner hyphens.
    type: str
    required: true
  journal:
    description:
      - Place of the journal, the one file that remembers all runs on this cluster.
      - A relative path starts at the directory of the cluster file.
      - The default is C(<cluster>.journal.sqlite) beside the cluster file.
    type: path
  nodes:
    description: The nodes, in groups that are built alike.
    type: list
    elements: dict
    required: true
    suboptions:
      names:
        description:
          - A host name or a range such as V(gpu-[001:064]), or a list of them. A range is
            V([first:last]) or V([first:last:step]), in digits; there may be several in one name.
        type: raw
        required: true
      sku:
        description:
          - What the nodes are built of, a name from the SKU table C(plugins/plugin_utils/skus.yml).
        type: str
        required: true
      vars:
        description:
          - Variables for each of these nodes. They are trusted as in any inventory, so they may
            hold templates.
        type: dict
        default: {}
  cache:
    description:
      - Keep the checked list of nodes. It is kept under the content of the file, so that an edited
        file is read anew at once. Variables are never put into the cache, because they may hold
        secrets.
"""

EXAMPLES = r"""
---
# h100.trackbed.yml
plugin: trackbed.cluster.cluster
cluster: atlas
journal: /var/lib/trackbed/atlas.sqlite
nodes:
  - names: gpu-[001:064]
    sku: h100-sxm
    vars:
      ansible_user: deploy
  - names:
      - gpu-[065:096]
      - gpu-spare-[1:2]
    sku: h200-sxm

---
# The address of each node, and a group for each rack of eight, by templates
plugin: trackbed.cluster.cluster
cluster: borealis
nodes:
  - names: node[000:255]
    sku: b200
compose:
  ansible_host: '"10.20.0." ~ (inventory_hostname[4:] | int)'
keyed_groups:
  - key: (inventory_hostname[4:] | int) // 8
    prefix: rack
strict: true
"""

from pathlib import Path

from ansible.errors import AnsibleError, AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.template import trust_as_template
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _skus
from ansible_collections.trackbed.cluster.plugins.plugin_utils._cluster import (
    OWN_VARS,
    ClusterError,
    from_record,
    parse_cluster,
    to_record,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._source import Source

SUFFIXES = (".trackbed.yml", ".trackbed.yaml")
GROUP = "trackbed"

# Keys of the two documentation fragments, which Ansible reads by itself.
PLUGIN_KEYS = (
    "cache",
    "cache_connection",
    "cache_plugin",
    "cache_prefix",
    "cache_timeout",
    "compose",
    "groups",
    "keyed_groups",
    "leading_separator",
    "strict",
    "use_extra_vars",
)


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Inventory from `*.trackbed.yml`."""

    NAME = "trackbed.cluster.cluster"

    def verify_file(self, path):
        """Return whether this is a cluster file by its name."""
        return super().verify_file(path) and str(path).endswith(SUFFIXES)

    def parse(self, inventory, loader, path, cache=True):
        """Read the file, refuse what cannot be right, and add hosts, groups and variables."""
        super().parse(inventory, loader, path, cache)
        raw = loader.load_from_file(path, cache="none", trusted_as_template=True)
        source = Source(str(path), str(loader.get_text_file_contents(path)))
        try:
            self._read_config_data(path)
        except AnsibleError:
            self._checked(raw, source)  # says it with file, line and remedy, where it can
            raise
        self._populate(self._cluster(raw, source, cache), Path(path).resolve().parent)

    def _cluster(self, raw, source, cache):
        """Return the cluster, from the cache where that is asked for and holds this very text."""
        if not self.get_option("cache"):
            return self._checked(raw, source)
        key = f"{self.get_cache_key(source.path)}_{source.digest(*sorted(_skus.load()))}"
        if cache and key in self._cache:
            return from_record(self._cache[key], raw)
        cluster = self._checked(raw, source)
        self._cache[key] = to_record(cluster)
        return cluster

    @staticmethod
    def _checked(raw, source):
        try:
            return parse_cluster(raw, source, _skus.load(), PLUGIN_KEYS)
        except ClusterError as error:
            raise AnsibleParserError(str(error)) from error

    def _populate(self, cluster, directory):
        """Add every node of the cluster to the inventory."""
        journal = str(directory / Path(cluster.journal).expanduser())
        skus = _skus.load()
        self.inventory.add_group(GROUP)
        for sku in {node.sku for node in cluster.nodes}:
            self.inventory.add_group(skus[sku].group)
        for node in cluster.nodes:
            self.inventory.add_host(node.name, group=GROUP)
            self.inventory.add_host(node.name, group=skus[node.sku].group)
            for name, value in node.variables.items():
                self.inventory.set_variable(node.name, name, value)
            # Trusted, or `ansible-inventory --list` wraps them as unsafe. The file's own
            # variables came trusted from the loader, except those marked !unsafe.
            for name, value in zip(OWN_VARS, (cluster.name, journal, node.sku), strict=True):
                self.inventory.set_variable(node.name, name, trust_as_template(value))
            self._construct(node.name)

    def _construct(self, host):
        """Apply compose, groups and keyed_groups, in this order, to one host."""
        compose, groups, keyed, strict = (
            self.get_option(name) for name in ("compose", "groups", "keyed_groups", "strict")
        )
        if not (compose or groups or keyed):
            return  # 10,000 hosts: reading their variables back is the slow part
        get_vars = self.inventory.get_host(host).get_vars
        self._set_composite_vars(compose, get_vars(), host, strict=strict)
        self._add_host_to_composed_groups(
            groups, get_vars(), host, strict=strict, fetch_hostvars=False
        )
        self._add_host_to_keyed_groups(keyed, get_vars(), host, strict=strict, fetch_hostvars=False)
