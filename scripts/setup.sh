#!/usr/bin/env bash
# Make this machine and .venv ready for the other targets. A second run does nothing.
#
# What has to be installed on the machine is listed and asked for on a terminal; where there is
# none (a CI), it is installed without asking.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

# -- the machine ------------------------------------------------------------------

# package:program that it brings:why
needs=(
    "podman:podman:runs the nodes of the lab"
    "crun:crun:podman's runtime"
    "netavark:/usr/lib/podman/netavark:networks of the lab"
    "aardvark-dns:/usr/lib/podman/aardvark-dns:names in the networks of the lab"
    "conmon:conmon:keeps containers"
    "iptables:iptables:networks of the lab"
    "nftables:nft:seen by the proof that the machine is left as it was"
    "iproute2:ip:networks of the lab"
    "mmdebstrap:mmdebstrap:makes the lab's base image where no image registry answers"
    "openssh-client:ssh:logs in to nodes"
    "pciutils:lspci:tests read made-up hardware with the real lspci"
    "git:git:the checks look at tracked files only"
)

has() { command -v "$1" >/dev/null 2>&1 || [ -x "$1" ]; }

missing=()
for need in "${needs[@]}"; do
    IFS=: read -r package program why <<<"$need"
    # A docker daemon that answers is as good as podman.
    case $package in
        podman | crun | netavark | aardvark-dns | conmon)
            if timeout 10 docker info >/dev/null 2>&1; then continue; fi ;;
    esac
    if ! PATH=$PATH:/usr/sbin:/sbin has "$program"; then missing+=("$package:$why"); fi
done

find_python() {
    local name
    for name in python3 python3.11 python3.12 python3.13 python3.14; do
        # Run it: a shim of a version manager may stand for nothing.
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    say "no Python 3.11 or newer was found on PATH; install one (Debian 12 and Ubuntu 24.04 have it)"
    exit 2
}
python=$(find_python)
if [ ! -x .venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    missing+=("python$version-venv:makes .venv")
fi

if [ ${#missing[@]} -gt 0 ]; then
    say "missing on this machine:"
    printf '    %s\n' "${missing[@]/:/  (}" | sed 's/$/)/' >&2
    if ! has apt-get; then
        say "this is no Debian or Ubuntu: install what gives these programs, and run it again"
        exit 2
    fi
    sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || { say "not root, and no sudo: install them as root, and run it again"; exit 2; }
        sudo=(sudo)
    fi
    if [ -t 0 ] && [ -t 2 ]; then
        read -r -p "setup: install them with apt-get? [Y/n] " answer
        case $answer in '' | y* | Y*) ;; *) exit 2 ;; esac
    fi
    "${sudo[@]}" apt-get update -qq
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]%%:*}" >/dev/null
    say "installed"
fi

# -- .venv ------------------------------------------------------------------------

# Made again when what it is made from has changed; the path is in it, too.
stamp=$( (cat pyproject.toml; pwd; "$python" -V) | sha256sum | cut -d' ' -f1)
if [ ! -x .venv/bin/trackbed ] || [ "$(cat .venv/stamp 2>/dev/null)" != "$stamp" ]; then
    say "making .venv"
    rm -rf .venv
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
    echo "$stamp" >.venv/stamp
fi
