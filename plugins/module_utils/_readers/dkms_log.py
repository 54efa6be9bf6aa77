# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of what DKMS says while it builds, and of the make.log of a build.

Formats: output of `dkms install`, `build`, `autoinstall`; /var/lib/dkms/MODULE/VERSION/
build/make.log, with the header that DKMS writes above what make said, or without it.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
    Value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dkms-log"
TITLE = "Build of a kernel module by DKMS: its outcome and the first error (also make.log)"
VERSIONS = "output of dkms and make.log; headers of dkms 3 written without a sample"
SOURCES = (
    "https://github.com/Tk-Glitch/PKGBUILDS/issues/133",
    "https://github.com/void-linux/void-packages/issues/55238",
    "https://github.com/Frogging-Family/linux-tkg/issues/205",
)
PROVEN = True
OUTCOMES = ("failed", "built", "installed")
ERROR_KINDS = ("compiler", "modpost", "make", "dkms")
FIELDS = {
    "node": {
        "build_count": Field(int, "builds in this text"),
        "failed_count": Field(int, "builds that failed"),
    },
    "dkms": {
        "module": Field(str, "name"),
        "version": Field(str, "version"),
        "kernel": Field(str, "kernel that it is built for"),
        "architecture": Field(str, "machine"),
        "outcome": Field(str, "how it ended; null where the text does not say", None, OUTCOMES),
        "dkms_exit_code": Field(int, "exit code of dkms; 10 is a failed build"),
        "make_exit_status": Field(int, "exit status of make"),
        "log_path": Field(str, "make.log that dkms points to"),
        "headers_missing": Field(bool, "the kernel's headers are not there; null where not said"),
        "headers_package": Field(str, "package that dkms asks for"),
        "error_count": Field(int, "errors of compiler and modpost"),
        "warning_count": Field(int, "warnings of the compiler"),
        "first_error": Field(str, "first error, cut to 300 characters"),
        "first_error_kind": Field(str, "who said it", None, ERROR_KINDS),
        "first_error_file": Field(str, "source file of the first error"),
        "first_error_source_line": Field(int, "line in that file"),
        "first_error_line": Field(int, "line of this text that it stands on, from 1"),
        "kernel_compiler": Field(str, "compiler that built the kernel, where a difference is told"),
        "compiler": Field(str, "compiler in use, where a difference is told"),
        "messages": Field(list, "what dkms says after `Error!`, up to 20"),
        "elapsed_s": Field(int, "time that the build took", "s"),
    },
}
_MOST_BUILDS = 200
_NAME = r"(?P<module>[A-Za-z][\w.+-]{0,80}?)[-/](?P<version>v?[0-9][\w.:+~-]{0,80}?)"
_KERNEL = r"(?P<kernel>[0-9][\w.+~-]{0,98}[\w+])"
_ARCH = r"(?: \((?P<architecture>[\w-]{1,20})\))?"
# Each gives values of the build; a kernel or module that differs begins another build.
_FACTS = tuple(
    (hint, re.compile(pattern, re.ASCII))
    for hint, pattern in (
        ("make.log for", r"make\.log for " + _NAME + r" for kernel " + _KERNEL + _ARCH),
        (
            "uilding",
            r"Building (?:initial )?module(?:s|\(s\))? (?:for )?"
            + _NAME
            + r" for (?:kernel )?"
            + _KERNEL,
        ),
        ("on kernel", r"module build on kernel: " + _KERNEL + _ARCH),
        (
            "make.log",
            r"(?P<log_path>/[\w./+~-]{0,120}/dkms/(?P<module>[\w.+-]{1,80})/"
            r"(?P<version>[\w.:+~-]{1,80})/build/make\.log)",
        ),
        (
            "dkms apport",
            r"binary package for (?P<module>[\w.+-]{1,80}): (?P<version>[\w.:+~-]{1,80}) not found",
        ),
        ("KERNEL_UNAME=", r"KERNEL_UNAME=" + _KERNEL),
        ("/lib/modules/", r"(?:SYSSRC=|-C |directory ')/lib/modules/" + _KERNEL + r"/build"),
        ("/dkms/", r"/dkms/(?P<module>[\w.+-]{1,80})/(?P<version>v?[0-9][\w.:+~-]{0,80})/build/"),
        ("ernel headers for", r"[Kk]ernel headers for (?:target )?kernel " + _KERNEL),
        ("exit status", r"bad exit status: (?P<make_exit_status>[0-9]{1,3})\)"),
        ("# exit code:", r"# exit code: (?P<make_exit_status>[0-9]{1,3})"),
        (
            "headers-",
            r"install the (?P<headers_package>(?:linux|kernel)-(?:headers"
            r"|devel)-[\w.+~-]{1,98}) package",
        ),
        ("was built by", r"kernel was built by: {1,16}(?P<kernel_compiler>\S.{0,150})"),
        ("You are using", r"You are using: {1,16}(?P<compiler>\S.{0,150})"),
    )
)
_COMPILER = re.compile(
    r"^(?:> ?)?(?P<file>[^\s:]{1,300}):(?P<at>[0-9]{1,7}):(?:[0-9]{1,6}:)? "
    r"(?:fatal )?error: (?P<says>.*)$"
)
_TOOL = re.compile(
    r"^(?:\S{0,80}(?:gcc|cc|clang|cc1|ld|as|objtool)(?:-[0-9.]{1,8})?"
    r"(?:\.\w{1,8})?): (?:fatal )?error: (?P<says>.*)$"
)
_MODPOST = re.compile(
    r"^(?:ERROR|FATAL): modpost: .*|^ERROR: \"?\w{1,120}\"? \[.*\] undefined!"
    r"|^WARNING: Symbol version dump .*missing"
)
_MAKE = re.compile(
    r"^(?:g?make|\S{1,80}/make)(?:\[[0-9]{1,2}\])?: \*\*\* (?P<says>.*)$|^/bin/"
    r"(?:ba|da)?sh: .*: (?:command )?not found$"
)
_WARNING = re.compile(r"^[^\s:]{1,300}:[0-9]{1,7}:(?:[0-9]{1,6}:)? warning: ")
_ELAPSED = re.compile(r"# elapsed time: ([0-9]{1,4}):([0-9]{2}):([0-9]{2})")
_AUTO = re.compile(
    r"[Aa]utoinstall on "
    + _KERNEL
    + (
        r"(?:/(?P<architecture>[\w-]{1,20}))? (?P<how>failed|succeeded) for "
        r"(?:module\(s\) )?(?P<modules>[\w.+() ,-]{1,600})"
    ),
    re.ASCII,
)
_DONE = re.compile(
    r"DKMS: install completed|^ *- Installing to /lib/modules/|^Installing /lib/modules/"
)
_BUILT = re.compile(r"DKMS: build completed|^ *LD \[M\] .*\.ko\s*$")
_HEAD = re.compile(
    r"DKMS (?:\(dkms-[^)]{1,40}\) )?make\.log for |Error! Bad return status for "
    r"module build|[Aa]utoinstall on \S{1,100} (?:failed|succeeded) for |DKMS: "
    r"(?:build|install) completed|Error! Your kernel headers for kernel|Error! "
    r"The kernel headers"
)
_WEAK = re.compile(
    r"(?m)^Building (?:initial )?module"
    r"|/var/lib/dkms/[^\s/]{1,80}/[^\s/]{1,80}/build/.*(?:error:|\.o\b)|bad exit "
    r"status: [0-9]"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _HEAD.search(text):
        return 95
    return 85 if _WEAK.search(text) else 0


def read(data: Data) -> Reading:
    """Read one text. Entities: "", `dkms:<module>_<version>_<kernel>` for every build."""
    log = _Log()
    for number, line in _plain.lines(data):
        log.take(number, line.strip())
    return log.finish()


class _Log:
    """Streams; only facts about each build are kept."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="dkms")
        self.node = self.reading.add(Entity(""))
        self.builds: list[dict[str, Value]] = []
        self.build: dict[str, Value] = {}
        self.ended = False

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        auto = _AUTO.search(line)
        if auto:
            self._auto(auto)
            return
        for hint, pattern in _FACTS:
            found = pattern.search(line) if hint in line else None
            if found:
                said = {name: text for name, text in found.groupdict().items() if text}
                self._facts(said)
        self._errors(number, line)
        if "ernel headers for" in line and re.search(
            r"cannot be found|not installed|not found", line
        ):
            self.build["headers_missing"] = True
        elapsed = _ELAPSED.search(line)
        if elapsed:
            hours, minutes, seconds = (int(one) for one in elapsed.groups())
            self.build["elapsed_s"] = hours * 3600 + minutes * 60 + seconds
        if _DONE.search(line):
            self.build["outcome"] = "installed"
        elif _BUILT.search(line) and not self.build.get("outcome"):
            self.build["outcome"] = "built"

    def _facts(self, said: dict[str, str]) -> None:
        for name in ("module", "version", "kernel"):
            if name in said and self.build.get(name) not in (None, said[name]):
                self._next()
        for name, text in said.items():
            number = name == "make_exit_status"
            value: Value = int(text) if number else text.rstrip(".,")
            if number and value == 0 and self.build.get("make_exit_status"):
                continue
            self.build[name] = value
        if self.build.get("make_exit_status"):
            self.build["outcome"] = "failed"

    def _errors(self, number: int, line: str) -> None:
        if _WARNING.match(line):
            self._count("warning_count")
            return
        for kind, pattern in (
            ("compiler", _COMPILER),
            ("compiler", _TOOL),
            ("modpost", _MODPOST),
            ("make", _MAKE),
        ):
            found = pattern.match(line)
            if found:
                if kind != "make":
                    self._count("error_count")
                self._first(kind, found, number, line)
                self.build["outcome"] = "failed"
                return
        if line.startswith("Error! "):
            messages = t.cast("list[t.Any]", self.build.setdefault("messages", []))
            if len(messages) < 20:
                messages.append(line[7:300])
            self.build["outcome"] = "failed"

    def _first(self, kind: str, found: t.Match[str], number: int, line: str) -> None:
        groups = found.groupdict()
        # make's own words only say that something before them failed.
        if self.build.get("first_error_kind") not in (None, "make"):
            return
        if self.build.get("first_error_kind") == "make" and kind == "make":
            return
        self.build["first_error_kind"] = kind
        self.build["first_error"] = (groups.get("says") or line)[:300]
        self.build["first_error_file"] = groups.get("file")
        self.build["first_error_source_line"] = int(groups["at"]) if groups.get("at") else None
        self.build["first_error_line"] = number

    def _count(self, name: str) -> None:
        self.build[name] = t.cast("int", self.build.get(name) or 0) + 1

    def _auto(self, found: t.Match[str]) -> None:
        """Take the last line of an autoinstall: modules, each with the exit code of dkms."""
        outcome = "failed" if found.group("how") == "failed" else "installed"
        for name, code in re.findall(
            r"([\w.+-]{1,80})(?:\(([0-9]{1,3})\))?", found.group("modules"), re.ASCII
        ):
            self._facts({"module": name.rstrip("."), "kernel": found.group("kernel")})
            self.build["architecture"] = found.group("architecture") or self.build.get(
                "architecture"
            )
            self.build["outcome"] = outcome
            if code:
                self.build["dkms_exit_code"] = int(code)

    def _next(self) -> None:
        if self.build:
            self.builds.append(self.build)
        self.build = {}

    def finish(self) -> Reading:
        """Return the reading."""
        self._next()
        named = [one for one in self.builds if one.get("module") or one.get("kernel")]
        if len(named) > _MOST_BUILDS:
            self.reading.note("limited", f"{len(named) - _MOST_BUILDS} further builds are not kept")
        for build in named[:_MOST_BUILDS]:
            parts = [str(build.get(name) or "unknown") for name in ("module", "version", "kernel")]
            path = "dkms:" + re.sub(r"[:/]", "_", "_".join(parts))
            values = {name: build.get(name) for name in FIELDS["dkms"]}
            values["error_count"] = build.get("error_count", 0)
            values["warning_count"] = build.get("warning_count", 0)
            entity = self.reading.add(Entity(path, values=values))
            if entity.values["outcome"] is None:
                says = "the text does not say how the build ended"
                _plain.note(self.reading, "truncated", says, entity=path)
        failed = sum(one.get("outcome") == "failed" for one in named)
        self.node.values.update({"build_count": len(named), "failed_count": failed})
        return self.reading if named else _plain.nothing(self.reading, "a build by DKMS")
