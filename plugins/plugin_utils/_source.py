# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Say in which line of a YAML file a value stands. Private to trackbed.cluster."""

from __future__ import annotations

import functools
import hashlib

import yaml


class Source:
    """A YAML file's name and text. The text is only looked at when a place is asked for."""

    def __init__(self, path: str, text: str) -> None:
        """Take the text as it is in the file (encrypted text has no places)."""
        self.path = path
        self._text = text

    def at(self, *keys: str | int) -> str:
        """Return `path:line` of the value under these keys, or of the nearest parent there is."""
        line = self.line(*keys)
        return f"{self.path}:{line}" if line else self.path

    def line(self, *keys: str | int) -> int | None:
        """Return the 1-based line, or None where the text is not YAML."""
        node = self._root
        if node is None:
            return None
        line = node.start_mark.line + 1
        for key in keys:
            found = _child(node, key)
            if found is None:
                return line
            line, node = found
        return line

    def digest(self, *more: str) -> str:
        """Return a hash of the text, and of whatever else the reading of it depends on."""
        return hashlib.sha256("\0".join([self._text, *more]).encode()).hexdigest()

    @functools.cached_property
    def _root(self) -> yaml.Node | None:
        try:
            root: yaml.Node | None = yaml.compose(self._text, Loader=yaml.SafeLoader)
        except yaml.YAMLError:
            return None
        return root


def _child(node: yaml.Node, key: str | int) -> tuple[int, yaml.Node] | None:
    """Return the line of the key (or list item), and the value."""
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        item = node.value[key]
        return item.start_mark.line + 1, item
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == str(key):
                return name.start_mark.line + 1, value
    return None
