# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site's policy: a check off, or with another severity, action or threshold.

Private to trackbed.cluster.
"""

from __future__ import annotations

import dataclasses
import types
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._actions import ACTIONS
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import SEVERITIES
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import meant, unknown_keys

_KEYS = ("enabled", "severity", "action", "want")


class PolicyError(ValueError):
    """The policy is wrong: what was found, what was wanted."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the policy says about one check. None: as the check itself says."""

    enabled: bool = True
    severity: str | None = None
    action: str | None = None
    want: t.Any = None
    """What the value has to be, in place of the check's own threshold."""


Policy = Mapping[str, Setting]

EMPTY: Policy = types.MappingProxyType({})


def parse_policy(raw: t.Any, checks: Iterable[str]) -> Policy:
    """Return the policy of a mapping check -> settings. Raises PolicyError."""
    if raw is None:
        return EMPTY
    if not isinstance(raw, Mapping):
        raise PolicyError(f"policy: wanted a mapping of checks, found {type(raw).__name__}")
    known = list(checks)
    for name in unknown_keys(raw, known):
        raise PolicyError(f"policy: unknown check {name!r}; {meant(name, known)}")
    return types.MappingProxyType({name: _setting(name, entry) for name, entry in raw.items()})


def _setting(name: str, raw: t.Any) -> Setting:
    if not isinstance(raw, Mapping):
        raise PolicyError(f"policy of {name}: wanted {', '.join(_KEYS)}, found {raw!r}")
    for key in unknown_keys(raw, _KEYS):
        raise PolicyError(f"policy of {name}: unknown key {key!r}; {meant(key, _KEYS)}")
    enabled, severity = raw.get("enabled", True), raw.get("severity")
    if not isinstance(enabled, bool):
        raise PolicyError(f"policy of {name}: enabled: wanted true or false, found {enabled!r}")
    if severity is not None and severity not in SEVERITIES:
        raise PolicyError(
            f"policy of {name}: severity: {severity!r}; {meant(str(severity), SEVERITIES)}"
        )
    action = raw.get("action")
    if action is not None and action not in ACTIONS:
        raise PolicyError(f"policy of {name}: action: {action!r}; {meant(str(action), ACTIONS)}")
    return Setting(enabled, severity, action, raw.get("want"))
