"""An engine that only remembers: what it was asked for, and what would exist by now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from trackbed.lab.command import Result
from trackbed.lab.limits import HostLimits

ORDINARY = HostLimits(
    may_raise=True, memlock_unlimited=False, nofile=1048576, nproc=100000, pids_controller=True
)
RESTRICTED = HostLimits(
    may_raise=False, memlock_unlimited=False, nofile=20000, nproc=96363, pids_controller=False
)
BOOT_ID = "11111111-2222-4333-8444-555555555555"


class FakeEngine:
    """A runner for `Engine` and `Host` that answers as podman would."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.containers: dict[str, dict[str, str]] = {}
        self.networks: dict[str, dict[str, str]] = {}
        self.images: set[str] = set()
        self.fail_at: str = ""
        self.registry = True

    def __call__(self, argv: Sequence[str], timeout: float) -> Result:
        assert timeout > 0
        words = list(argv)
        self.calls.append(words)
        if self.fail_at and self.fail_at in " ".join(words):
            return Result(tuple(words), 125, "", "Error: planted\n")
        return self._answer(words)

    def _answer(self, words: list[str]) -> Result:
        out, code = "", 0
        if words[0] == "ssh":
            out = f"{BOOT_ID}\nrunning\n1000\n1007\n"
        elif words[0].endswith("-save"):
            code = 127
        elif words[0] == "podman":
            rest = words[3:] if words[1] == "--runtime" else words[1:]
            out, code = getattr(self, f"_{rest[0]}")(rest[1:])
        elif words[0] == "ssh-keygen":
            return _keygen(words)
        return Result(tuple(words), code, out, "" if code == 0 else "Error: no such thing\n")

    def verbs(self) -> list[str]:
        """The engine's verbs that change something, in order."""
        changing = ("run", "rm", "restart", "build", "pull", "import")
        flat = [[word for word in call if word != "podman"] for call in self.calls]
        return [
            call[0] if call[0] != "network" else f"network {call[1]}"
            for call in flat
            if call[0] in changing or call[:2] in (["network", "create"], ["network", "rm"])
        ]

    def _run(self, words: list[str]) -> tuple[str, int]:
        name = words[words.index("--name") + 1]
        labels = dict(
            words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--label"
        )
        self.containers[name] = {**labels, "ip": words[words.index("--ip") + 1]}
        return "c0ffee\n", 0

    def _ps(self, words: list[str]) -> tuple[str, int]:
        return "\n".join(self._filtered(self.containers, words)), 0

    def _filtered(self, things: dict[str, dict[str, str]], words: list[str]) -> list[str]:
        if "--filter" not in words:
            return sorted(things)
        key, _, value = words[words.index("--filter") + 1].removeprefix("label=").partition("=")
        return sorted(n for n, t in things.items() if key in t and value in ("", t[key]))

    def _inspect(self, words: list[str]) -> tuple[str, int]:
        found = []
        for name in words[2:]:
            box = self.containers[name]
            networks = {net: {"IPAddress": box["ip"]} for net in self.networks}
            found.append(
                {
                    "Name": name,
                    "State": {"Running": box.get("dead") is None},
                    "Config": {"Labels": box},
                    "NetworkSettings": {"Networks": networks},
                }
            )
        return json.dumps(found), 0

    def _network(self, words: list[str]) -> tuple[str, int]:
        if words[0] == "create":
            labels = [word.removeprefix("--label=") for word in words if "--label=" in word]
            made = dict(label.split("=", 1) for label in labels)
            self.networks[words[-1]] = {**made, "subnet": words[words.index("--subnet") + 1]}
            return "", 0
        if words[0] == "rm":
            return "", 0 if self.networks.pop(words[1], None) else 1
        if words[0] == "ls":
            return "\n".join(self._filtered(self.networks, words)), 0
        nets = [self.networks.get(name) for name in words[1:]]
        if None in nets:
            return "", 1
        shown = [{"labels": net, "subnets": [{"subnet": net["subnet"]}]} for net in nets if net]
        return json.dumps(shown), 0

    def _image(self, words: list[str]) -> tuple[str, int]:
        if words[0] == "inspect":
            return "", 0 if words[-1] in self.images else 1
        if words[0] == "ls":
            return "\n".join(sorted(self.images)), 0
        self.images -= set(words[1:])
        return "", 0

    def _build(self, words: list[str]) -> tuple[str, int]:
        self.images.add(next(w.removeprefix("--tag=") for w in words if w.startswith("--tag=")))
        return "", 0

    def _manifest(self, words: list[str]) -> tuple[str, int]:
        return "", 0 if self.registry else 125

    def _pull(self, words: list[str]) -> tuple[str, int]:
        self.images.add(words[-1])
        return "", 0

    def _import(self, words: list[str]) -> tuple[str, int]:
        self.images.add(words[-1])
        return "", 0

    def _rm(self, words: list[str]) -> tuple[str, int]:
        for word in words:
            self.containers.pop(word, None)
        return "", 0

    def _restart(self, words: list[str]) -> tuple[str, int]:
        return "", 0

    def _info(self, words: list[str]) -> tuple[str, int]:
        return "/usr/bin/crun\n", 0

    def _logs(self, words: list[str]) -> tuple[str, int]:
        return "trackbed-lab: boot\n", 0

    def _exec(self, words: list[str]) -> tuple[str, int]:
        if words[1] == "cat":
            return "-----BEGIN PGP PUBLIC KEY BLOCK-----\n", 0
        return "planted.service failed\n", 0


def _keygen(words: list[str]) -> Result:
    place = Path(words[words.index("-f") + 1])
    place.write_text("not a real key\n", encoding="ascii")
    place.with_name(place.name + ".pub").write_text("ssh-ed25519 AAAA made\n", encoding="ascii")
    return Result(tuple(words), 0, "", "")
