"""Run the stages of a test, print how long each took, and end with what failed.

Static checks all run, so that one round shows them all; tests run only after
clean checks, and those that need a lab only after the quicker ones.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOST = ".cache/host-before.json"
FORK = "ansible_collections.trackbed.cluster.plugins"
# pytest's own last line: "2 failed, 40 passed, 1 skipped in 3.21s".
_LAST_LINE = re.compile(r"\d+ (passed|failed|error|skipped|deselected|no tests ran).* in [\d.]+s")
_COUNT = re.compile(r"(\d+) (passed|failed|error)")
# What a stage gets to tidy up (a lab, containers) after an interrupt, in seconds.
_GRACE = 90
_TIMED_OUT = 124
_INTERRUPTED = 130
Command = list[str]


@dataclass(frozen=True)
class Stage:
    """One stage: a title, the commands that must all end with 0, and the seconds for each."""

    title: str
    commands: tuple[Command, ...]
    seconds: int = 900


@dataclass
class Result:
    """How a stage ended; a stage that counts no tests of its own is one test."""

    title: str
    seconds: float = 0.0
    failed: bool = False
    passed_tests: int = 0
    failed_tests: int = 0

    def counts(self) -> tuple[int, int]:
        """Return how many tests passed and failed."""
        if self.failed:
            return self.passed_tests, max(self.failed_tests, 1)
        return self.passed_tests or 1, 0


def _lint() -> list[Stage]:
    own = [str(path.relative_to(ROOT)) for path in _python_files("scripts", "bench")]
    packages = ["-p", "trackbed", "-p", f"{FORK}.plugin_utils", "-p", f"{FORK}.module_utils"]
    return [
        Stage("ruff", (["ruff", "check", "."], ["ruff", "format", "--check", "."])),
        Stage("mypy", (["mypy", *packages], ["mypy", *own])),
        Stage("yamllint", (["yamllint", "--strict", "."],)),
        Stage("ansible-lint", (["ansible-lint", "--offline", "-q"],)),
        # Its compile and import tests also run on the oldest Pythons that are at hand.
        Stage("ansible-test sanity", (["bash", "scripts/sanity.sh"],), 1200),
    ]


def _python_files(*directories: str) -> list[Path]:
    return sorted(path for name in directories for path in (ROOT / name).glob("*.py"))


def _quick_tests() -> list[Stage]:
    quick = ["pytest", "-q", "-m", "not slow and not lab"]
    coverage = ["--cov", "--cov-report=term:skip-covered"]
    return [
        Stage("unit tests", ([*quick, "-n", "2", "tests/unit", *coverage],), 1500),
        Stage("layout tests", ([*quick, "tests/layout"],)),
    ]


def _lab_tests() -> list[Stage]:
    """Everything that starts nodes, between two looks at the host."""
    return [
        Stage("host before", (["python", "scripts/host_unchanged.py", "save", HOST],)),
        Stage("lab tests", (["pytest", "-q", "-m", "lab", "tests/integration"],), 1500),
        *[
            Stage(f"molecule {name}", (["molecule", "test", "-s", name],))
            for name in sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))
        ],
        Stage("host unchanged", (["python", "scripts/host_unchanged.py", "compare", HOST],)),
    ]


def _slow() -> list[Stage]:
    stages = [Stage("other Pythons", (["python", "scripts/other_pythons.py"],), 3600)]
    # pytest calls it a failure where no test has the mark.
    marked = any("mark.slow" in path.read_text("utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    if marked:
        stages.append(Stage("slow tests", (["pytest", "-q", "-m", "slow", "tests"],), 3600))
    return stages


# Groups of stages: a group runs to its end, and a failed one stops the plan.
PLANS: dict[str, Callable[[], list[list[Stage]]]] = {
    "lint": lambda: [_lint()],
    "test": lambda: [_lint(), _quick_tests(), _lab_tests()],
    "slow": lambda: [_slow()],
}


def run(stage: Stage) -> Result:
    """Run one stage; its output goes through as it comes, and pytest's counts are kept."""
    _say(f"\n=== {stage.title}")
    result = Result(stage.title)
    began = time.monotonic()
    for command in stage.commands:
        if not _run(command, stage.seconds, result):
            result.failed = True
    result.seconds = time.monotonic() - began
    _say(f"=== {stage.title}: {_word(result)} in {result.seconds:.0f} s")
    return result


def _run(command: Command, seconds: int, result: Result) -> bool:
    limited = ["timeout", f"--kill-after={_GRACE}", str(seconds), *command]
    child = subprocess.Popen(
        limited,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        _pass_through(child, command[0] == "pytest", result)
        code = child.wait()
    except KeyboardInterrupt:
        # `timeout` leads a process group of its own, which a terminal's Ctrl-C does not reach.
        child.send_signal(signal.SIGINT)
        try:
            child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
        raise
    if code == _TIMED_OUT:
        _say(f"=== {command[0]} was stopped after {seconds} s")
    elif code != 0:
        _say(f"=== exit code {code} of: {' '.join(command)}")
    return code == 0


def _pass_through(child: subprocess.Popen[str], counts: bool, result: Result) -> None:
    last = ""
    for line in child.stdout or ():
        sys.stdout.write(line)
        sys.stdout.flush()
        if counts and _LAST_LINE.search(line):
            last = line
    for number, word in _COUNT.findall(last):
        if word == "passed":
            result.passed_tests += int(number)
        else:
            result.failed_tests += int(number)


def _word(result: Result) -> str:
    return "FAILED" if result.failed else "passed"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def summary(results: list[Result]) -> int:
    """Print each stage's time, what failed and, last, the number of tests; return the code."""
    _say("\n=== summary")
    for one in results:
        _say(f"{one.seconds:7.0f} s  {_word(one)}  {one.title}")
    _say(f"{sum(one.seconds for one in results):7.0f} s  in all")
    bad = [one.title for one in results if one.failed]
    if bad:
        _say(f"failed: {', '.join(bad)}")
    counts = [one.counts() for one in results]
    _say(f"{sum(good for good, _ in counts)} passed, {sum(lost for _, lost in counts)} failed")
    return 1 if bad else 0


def main(arguments: list[str]) -> int:
    """Run a plan and return 1 if any stage failed."""
    if len(arguments) != 1 or arguments[0] not in PLANS:
        sys.stderr.write(f"usage: stages.py {'|'.join(PLANS)}\n")
        return 2
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(ROOT / "collections")
    os.environ["ANSIBLE_CONFIG"] = str(ROOT / "ansible.cfg")
    results: list[Result] = []
    try:
        for group in PLANS[arguments[0]]():
            results += [run(stage) for stage in group]
            if any(one.failed for one in results):
                break
    except KeyboardInterrupt:
        summary(results)
        return _INTERRUPTED
    return summary(results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
