# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as kernel logs print them, as seconds. Private to trackbed.cluster.

Forms: dmesg (ctime, localised or not, iso, reltime), syslog of RFC 3164 and 5424, journalctl
(-o short to short-unix). Names of months were not checked against the locales of glibc.
"""

from __future__ import annotations

import calendar
import functools
import re

# First letters of month names, without accents: glibc locales en, de, fr, es, it, nl, pt, pl.
_MONTHS = (
    ("jan", "ene", "gen", "sty"),
    ("feb", "fev", "fév", "lut"),
    ("mar", "mär", "mrt", "mrz"),
    ("apr", "avr", "abr", "kwi"),
    ("may", "mai", "mei", "mag", "maj"),
    ("jun", "juin", "giu", "cze"),
    ("jul", "juil", "lug", "lip"),
    ("aug", "aoû", "aou", "ago", "sie"),
    ("sep", "set", "wrz"),
    ("oct", "okt", "out", "ott", "paź"),
    ("nov", "lis"),
    ("dec", "déc", "dez", "dic", "gru"),
)
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,9}))?"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:[.,]([0-9]{1,9}))?")
_YEAR = re.compile(r"(?<![0-9:.,])((?:19|20)[0-9]{2})(?![0-9:])")
_DAY = re.compile(r"(?<![0-9:.,])([0-9]{1,2})(?![0-9:月])\.?")
_WORD = re.compile(r"[^\W\d_]{3,12}")
_HAN_MONTH = re.compile(r"([0-9]{1,2})月")
# A year that is not printed: a leap year, so that 29 February is a date.
NO_YEAR = 2000


# Most lines of a log share their second with the line before.
@functools.lru_cache(maxsize=256)
def seconds(stamp: str) -> tuple[float | None, bool]:
    """Return (seconds, whether they count from 1970) for what stands in a time stamp.

    A bare number is seconds since boot, unless it is too large for that. Wall time
    without a zone is taken as UTC. Without a year, seconds can be compared within
    one log and are no date: then the second part is False. None where unknown.
    """
    text = stamp.strip().strip("[]").strip()
    if re.match(r"^[0-9]{1,12}(?:\.[0-9]{1,9})?$", text):
        value = float(text)
        return value, value > 1e9
    found = _ISO.search(text)
    if found:
        return _epoch([int(one) for one in found.groups()[:6]], found.group(7), found.group(8))
    clock = _CLOCK.search(text)
    if clock is None:
        return None, False
    date = text[: clock.start()] + " " + text[clock.end() :]
    month, day, year = _month(date), _DAY.search(date), _YEAR.search(date)
    if month is None or day is None:
        return None, False
    numbers = [int(year.group(1)) if year else NO_YEAR, month, int(day.group(1))]
    value_s, _dated = _epoch(
        [*numbers, *(int(one or 0) for one in clock.groups()[:3])], clock.group(4), None
    )
    return value_s, year is not None and value_s is not None


def _month(text: str) -> int | None:
    han = _HAN_MONTH.search(text)
    if han:
        return int(han.group(1)) if 1 <= int(han.group(1)) <= 12 else None
    # The month stands after the day of the week, and `Mar` is both: Tuesday in French, March.
    for word in reversed(_WORD.findall(text.lower())):
        for number, names in enumerate(_MONTHS, 1):
            if any(word.startswith(name) for name in names):
                return number
    return None


def _epoch(numbers: list[int], fraction: str | None, zone: str | None) -> tuple[float | None, bool]:
    year, month, day, hour, minute, second = numbers
    if not (1970 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= 31):
        return None, False
    if hour > 23 or minute > 59 or second > 60:
        return None, False
    value = float(calendar.timegm((year, month, day, hour, minute, second)))
    if fraction:
        value += float("0." + fraction)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        value += -offset if zone[0] == "+" else offset
    return value, True
