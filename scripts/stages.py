"""Run the stages of a test, print how long each took, and end with what failed.

Static checks all run, so that one round shows them all; tests run only after
clean checks, and the slower ones only after the quicker.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNT = re.compile(r"(?:(\d+) failed, )?(\d+) passed")
FORK = "ansible_collections.trackbed.cluster.plugins"
Command = list[str]


@dataclass(frozen=True)
class Stage:
    """One stage: a title and the commands that must all end with 0."""

    title: str
    commands: tuple[Command, ...]
    seconds: int = 900
    """A stage that takes longer hangs."""


@dataclass
class Result:
    """How a stage ended."""

    title: str
    seconds: float
    failed: bool
    passed_tests: int = 0
    failed_tests: int = 0


def _scenarios() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml"))


LINT = (
    Stage("ruff", (["ruff", "check", "."], ["ruff", "format", "--check", "."])),
    Stage(
        "mypy",
        (["mypy", "-p", "trackbed", "-p", f"{FORK}.plugin_utils", "-p", f"{FORK}.module_utils"],),
    ),
    Stage("yamllint", (["yamllint", "--strict", "."],)),
    Stage("ansible-lint", (["ansible-lint", "--offline", "-q"],)),
    Stage("ansible-test sanity", (["bash", "scripts/sanity.sh"],), 1200),
)
UNIT = Stage(
    "unit tests",
    (["pytest", "-q", "-n", "2", "tests/unit", "--cov", "--cov-report=term:skip-covered"],),
    1500,
)
LAYOUT = Stage("layout tests", (["pytest", "-q", "tests/layout"],))
LAB = Stage("lab tests", (["pytest", "-q", "-m", "lab", "tests/integration"],), 1500)


def _molecule() -> list[Stage]:
    return [Stage(f"molecule {name}", (["molecule", "test", "-s", name],)) for name in _scenarios()]


def _plans() -> dict[str, Callable[[], list[list[Stage]]]]:
    """Return the plans: groups of stages; a group runs to its end, a failed one stops the plan."""
    return {
        "lint": lambda: [list(LINT)],
        "test": lambda: [list(LINT), [UNIT, LAYOUT], [LAB, *_molecule()]],
        "slow": lambda: [[Stage("other Pythons", (["bash", "scripts/other_pythons.sh"],), 3600)]],
    }


def run(stage: Stage) -> Result:
    """Run one stage; its output goes through as it comes, and is searched for test counts."""
    print(f"\n=== {stage.title}", flush=True)  # noqa: T201
    result = Result(stage.title, 0.0, False)
    began = time.monotonic()
    for command in stage.commands:
        if not _run(command, stage.seconds, result):
            result.failed = True
    result.seconds = time.monotonic() - began
    print(f"=== {stage.title}: {_word(result)} in {result.seconds:.0f} s", flush=True)  # noqa: T201
    return result


def _run(command: Command, seconds: int, result: Result) -> bool:
    limited = ["timeout", "--kill-after=30", str(seconds), *command]
    with subprocess.Popen(
        limited, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        assert child.stdout is not None  # noqa: S101  (it is a pipe)
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            found = COUNT.search(line) if command[0] == "pytest" else None
            if found:
                result.failed_tests += int(found.group(1) or 0)
                result.passed_tests += int(found.group(2))
    if child.returncode == 124:
        print(f"=== {command[0]} was stopped after {seconds} s", flush=True)  # noqa: T201
    return child.returncode == 0


def _word(result: Result) -> str:
    return "FAILED" if result.failed else "passed"


def main(arguments: list[str]) -> int:
    """Run a plan and return 1 if any stage failed."""
    plans = _plans()
    if len(arguments) != 1 or arguments[0] not in plans:
        sys.stderr.write(f"usage: stages.py {'|'.join(plans)}\n")
        return 2
    os.environ.setdefault("ANSIBLE_COLLECTIONS_PATH", str(ROOT / "collections"))
    results: list[Result] = []
    for group in plans[arguments[0]]():
        results += [run(stage) for stage in group]
        if any(one.failed for one in results):
            break
    print("\n=== summary")  # noqa: T201
    for one in results:
        print(f"{one.seconds:7.0f} s  {_word(one)}  {one.title}")  # noqa: T201
    print(f"{sum(one.seconds for one in results):7.0f} s  in all")  # noqa: T201
    bad = [one.title for one in results if one.failed]
    if bad:
        print(f"failed: {', '.join(bad)}")  # noqa: T201
    passed = sum(one.passed_tests for one in results)
    lost = sum(one.failed_tests for one in results)
    # A stage is a test, too: the static checks count none of their own.
    passed += sum(not one.failed for one in results)
    lost += len(bad)
    print(f"{passed} passed, {lost} failed", flush=True)  # noqa: T201
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
