"""The one error that Trackbed raises on purpose."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_FAILED,
    EXIT_USAGE,
)


class TrackbedError(Exception):
    """Something that a person must mend: what was found, what was wanted, what to do.

    Only the command line catches it; it prints the three parts and exits with `code`.
    """

    def __init__(
        self, found: str, *, wanted: str = "", remedy: str = "", code: int = EXIT_FAILED
    ) -> None:
        """Keep the three parts apart, so that `--json` can too."""
        super().__init__(found)
        self.found = found
        self.wanted = wanted
        self.remedy = remedy
        self.code = code


class UsageError(TrackbedError):
    """Wrong arguments, configuration or inventory (exit code 2)."""

    def __init__(self, found: str, *, wanted: str = "", remedy: str = "") -> None:
        """Take the same three parts."""
        super().__init__(found, wanted=wanted, remedy=remedy, code=EXIT_USAGE)
