# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of SONiC's `show`: which columns tell what.

Private to trackbed.cluster. Source: https://github.com/sonic-net/sonic-utilities, scripts/.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _plain,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_fields import (
    count,
    part,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_tables import Table
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

Row = t.Dict[str, str]
Handler = t.Callable[[Reading, Row, int], None]

# portstat's letters: up, down, and switched off by hand.
_LETTERS = {"u": ("oper_state", "up"), "d": ("oper_state", "down"), "x": ("admin_state", "down")}
_CAPABILITIES = {"R": "router", "B": "bridge", "O": "other"}
_LAST = re.compile(r"^(?:pg|uc|mc|all)([0-9]{1,2})$")


def _numbers(word: str) -> list[int] | None:
    words = word.split(",")
    if len(words) > 64 or not all(re.match(r"^[0-9]{1,5}$", one) for one in words):
        return None
    return [int(one) for one in words]


def _present(word: str) -> bool | None:
    return {"present": True, "not present": False}.get(word.lower())


# Column -> (name of the value, its reader); a column without a reader is an enumeration or text.
_STATUS = {
    "lanes": ("lanes", _numbers),
    "speed": ("speed_mbit_per_s", _switch_fields.speed),
    "oper speed": ("oper_speed_mbit_per_s", _switch_fields.speed),
    "mtu": ("mtu_b", count),
    "alias": ("alias", _plain.text),
    "vlan": ("vlan", _plain.text),
    "type": ("media", _plain.text),
    "asym pfc": ("asymmetric_pfc", _plain.yes),
    "asymmetric": ("asymmetric_pfc", _plain.yes),
    "description": ("description", _plain.text),
    "lossless priorities": ("lossless_priorities", _numbers),
    "presence": ("module_present", _present),
    "action": ("watchdog_action", _plain.text),
    "detection time": ("watchdog_detection_ms", count),
    "restoration time": ("watchdog_restoration_ms", count),
}
_WORDS: dict[str, tuple[str, t.Callable[[str], str | None]]] = {
    "oper": ("oper_state", _switch_fields.state),
    "admin": ("admin_state", _switch_fields.state),
    "fec": ("fec", _switch_fields.fec),
}
_COUNTERS: dict[str, tuple[str, t.Callable[[str], t.Any]]] = {
    "rx_ok": ("rx_packets", count),
    "tx_ok": ("tx_packets", count),
    "rx_err": ("rx_errors", count),
    "tx_err": ("tx_errors", count),
    "rx_drp": ("rx_discards", count),
    "tx_drp": ("tx_discards", count),
    "rx_ovr": ("rx_overruns", count),
    "tx_ovr": ("tx_overruns", count),
    "rx_util": ("rx_utilisation_pct", _switch_fields.percent),
    "tx_util": ("tx_utilisation_pct", _switch_fields.percent),
    "fec_corr": ("fec_corrected_blocks", count),
    "fec_uncorr": ("fec_uncorrectable_blocks", count),
    "fec_symbol_err": ("fec_symbol_errors", count),
    "fec_pre_ber": ("raw_ber", _switch_fields.small),
    "fec_post_ber": ("effective_ber", _switch_fields.small),
}
_QUEUE = {
    "counter/pkts": "tx_packets",
    "counter/bytes": "tx_bytes",
    "drop/pkts": "dropped_packets",
    "drop/bytes": "dropped_bytes",
    "ecnmarked/pkts": "ecn_marked_packets",
    "ecnmarked/bytes": "ecn_marked_bytes",
}
_GREEN = {
    "green_min_threshold": "ecn_min_threshold_b",
    "green_max_threshold": "ecn_max_threshold_b",
    "green_drop_probability": "ecn_probability_pct",
}
ECN_MODES = (
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
)
_WATCHDOG = {
    "storm detected/restored": ("storms_detected", "storms_restored"),
    "tx ok/drop": ("tx_packets", "tx_drops"),
    "rx ok/drop": ("rx_packets", "rx_drops"),
    "tx last ok/drop": ("last_tx_packets", "last_tx_drops"),
    "rx last ok/drop": ("last_rx_packets", "last_rx_drops"),
}


def handler_of(table: Table) -> Handler | None:
    """Return what reads the rows of a table whose columns are in lower case, None if unknown."""
    first, others = table.columns[0], set(table.columns[1:])
    ports = (set(_STATUS) | {"oper"}) - {"alias", "type"}
    cases: tuple[tuple[bool, Handler], ...] = (
        (first == "iface" and bool(others & set(_COUNTERS)), _counters),
        (first in ("interface", "port") and bool(others & ports), _status),
        (first in ("port rx", "port tx") and "pfc0" in others, _pfc),
        (first == "port" and {"counter/pkts", "drop/pkts"} <= others, _queue),
        (first == "port" and all(_LAST.match(one) for one in others), _pool(table)),
        (first == "queue" and "storm detected/restored" in others, _watchdog),
        (first.startswith("profile: "), _profile(table)),
        (first == "localport" and "remotedevice" in others, _lldp),
    )
    return next((handler for fits, handler in cases if fits), None)


def _port(reading: Reading, row: Row, number: int) -> Entity | None:
    name = next(iter(row.values()))
    if not name or len(name) > 80:
        _plain.note(reading, "malformed", "a row without the name of a port", line=number)
        return None
    return _switch_fields.port_named(reading, name)


def _put(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    reader: t.Callable[[str], t.Any],
    number: int,
) -> None:
    """Put a value; one that was read before is not replaced by none."""
    old = entity.values.get(name)
    _plain.put(reading, entity, name, word, reader, number)
    if old is not None and entity.values[name] is None:
        entity.values[name] = old
        entity.notes.pop(name, None)
    elif entity.values[name] is not None:
        entity.notes.pop(name, None)


def _status(reading: Reading, row: Row, number: int) -> None:
    port = _port(reading, row, number)
    if port is None:
        return
    for column, word in list(row.items())[1:]:
        if column in _WORDS:
            name, known = _WORDS[column]
            # `none` is the name of a way to correct errors, and no missing value.
            if word and (absence(word) is None or known(word)):
                port.notes.pop(name, None)
                _switch_fields.verbatim(reading, port, name, word, known, number)
            else:
                port.values.setdefault(name, None)
        elif column in _STATUS:
            name, reader = _STATUS[column]
            _put(reading, port, name, word, reader, number)


def _counters(reading: Reading, row: Row, number: int) -> None:
    port = _port(reading, row, number)
    if port is None:
        return
    letter = _LETTERS.get(row.get("state", "").lower())
    if letter:
        port.values[letter[0]] = letter[1]
    for column, word in row.items():
        if column in _COUNTERS:
            name, reader = _COUNTERS[column]
            _put(reading, port, name, word, reader, number)


def _pfc(reading: Reading, row: Row, number: int) -> None:
    port = _port(reading, row, number)
    name = "rx_pfc_frames" if "port rx" in row else "tx_pfc_frames"
    for column, word in list(row.items())[1:]:
        found = re.match(r"^pfc([0-7])$", column)
        if found and port is not None:
            priority = part(reading, f"{port.path}/priority:{found.group(1)}")
            _put(reading, priority, name, word, count, number)


def _queue(reading: Reading, row: Row, number: int) -> None:
    port = _port(reading, row, number)
    queue = list(row.values())[1]
    if port is None or not re.match(r"^[A-Za-z]{0,8}[0-9]{1,4}$", queue):
        _plain.note(reading, "malformed", "a row without a queue", line=number, verbatim=queue)
        return
    entity = part(reading, f"{port.path}/queue:{queue}")
    for column, word in row.items():
        if column in _QUEUE:
            _put(reading, entity, _QUEUE[column], word, count, number)


def _pool(table: Table) -> Handler:
    """Return what reads packets dropped, or the most that stood in a buffer: the title tells."""
    title = table.title.lower()
    name = "watermark_b"
    if "dropped" in title:
        name = "dropped_packets"
    elif table.columns[-1].startswith("pg"):
        name = "headroom_watermark_b" if "headroom" in title else "shared_watermark_b"

    def take(reading: Reading, row: Row, number: int) -> None:
        port = _port(reading, row, number)
        for column, word in row.items():
            found = _LAST.match(column)
            if found and port is not None:
                group = column.startswith("pg")
                sort = f"pg:{found.group(1)}" if group else f"queue:{column.upper()}"
                _put(reading, part(reading, f"{port.path}/{sort}"), name, word, count, number)

    return take


def _profile(table: Table) -> Handler:
    """Return what reads a profile of WRED: packets are green unless a policer says otherwise."""
    name = table.header.partition(":")[2].strip()[:80]

    def take(reading: Reading, row: Row, number: int) -> None:
        leaf, word = list(row.values())[:2]
        profile = part(reading, f"profile:{_switch_fields.key(name)}")
        settings = profile.values.setdefault("settings", {})
        if isinstance(settings, dict) and len(settings) < 64 and leaf:
            settings[leaf[:60]] = word[:60] or None
        if leaf == "ecn":
            known = {one: one for one in ECN_MODES}.get
            _switch_fields.verbatim(reading, profile, "ecn_mode", word, known, number)
        elif leaf == "wred_green_enable":
            profile.values["wred_enabled"] = {"true": True, "false": False}.get(word.lower())
        elif leaf in _GREEN:
            _put(reading, profile, _GREEN[leaf], word, count, number)

    return take


def _watchdog(reading: Reading, row: Row, number: int) -> None:
    port, mark, queue = row["queue"].rpartition(":")
    if not mark or not port or not re.match(r"^[0-9]{1,3}$", queue):
        says = "a queue is written as `PORT:NUMBER`"
        _plain.note(reading, "malformed", says, line=number, verbatim=row["queue"])
        return
    path = _switch_fields.port_named(reading, port).path
    entity = part(reading, f"{path}/watchdog:{queue}")
    word = row.get("status", "")
    if word and absence(word) is None:
        known = {"operational": "operational", "stormed": "stormed"}.get
        _switch_fields.verbatim(reading, entity, "state", word, known, number)
    else:
        entity.values["state"] = None
    for column, names in _WATCHDOG.items():
        if column not in row:
            continue
        words = [one.strip() for one in row[column].split("/")]
        pair = words if len(words) == 2 and "N" not in words else [row[column]] * 2
        for name, one in zip(names, pair):
            _put(reading, entity, name, one, count, number)


def _lldp(reading: Reading, row: Row, number: int) -> None:
    far = [row.get(one) or None for one in ("remotedevice", "remoteportid")]
    entity = _switch_fields.neighbour(reading, row["localport"], *far)
    if "remoteportdescr" in row:
        entity.values["port_description"] = row["remoteportdescr"] or None
    letters = row.get("capability", "")
    entity.values["capabilities"] = [_CAPABILITIES.get(one, one) for one in letters[:16]]
    if entity.values.get("port") is None:
        says = f"{entity.path} names no port of its neighbour"
        _plain.note(reading, "missing_value", says, line=number, entity=entity.path)
