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

# podman's helpers lie in lib on Debian, in libexec elsewhere.
has() { command -v "$1" >/dev/null 2>&1 || [ -x "$1" ] || [ -x "${1/lib/libexec}" ]; }

# Whether an interpreter is new enough. Run it: a shim of a version manager may stand for nothing.
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local name
    for name in python3 python3.13 python3.12 python3.11 python3.14; do
        if new_enough "$name"; then
            command -v "$name"
            return
        fi
    done
}

# The newest that this distribution has, where its python3 is too old (Ubuntu 22.04 has 3.11 beside 3.10).
packaged_python() {
    local version
    for version in 3.13 3.12 3.11; do
        if apt-cache show "python$version-venv" >/dev/null 2>&1; then
            echo "python$version"
            return
        fi
    done
}

# Print one line, package:why, for each need that is not met.
missing() {
    local need package program why docker=no python version
    if timeout 10 docker info >/dev/null 2>&1; then docker=yes; fi # as good as podman
    for need in "${needs[@]}"; do
        IFS=: read -r package program why <<<"$need"
        case $docker:$package in
            yes:podman | yes:crun | yes:netavark | yes:aardvark-dns | yes:conmon) continue ;;
        esac
        if ! PATH=$PATH:/usr/sbin:/sbin has "$program"; then echo "$package:$why"; fi
    done
    python=$(find_python)
    if [ -z "$python" ]; then
        version=$(packaged_python)
        echo "${version:-python3.11}:runs trackbed"
        echo "${version:-python3.11}-venv:makes .venv"
    elif [ ! -x .venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "python$version-venv:makes .venv"
    fi
}

# Install packages, given as lines package:why.
install() {
    local sudo=() answer packages=("${@%%:*}") apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
    say "missing on this machine:"
    printf '    %s\n' "${@/:/: }" >&2
    if ! has apt-get; then
        say "this is neither Debian nor Ubuntu; install what brings these, and run it again, e.g."
        say "  dnf install podman crun netavark aardvark-dns iptables nftables iproute \\"
        say "      openssh-clients pciutils git python3.12"
        exit 2
    fi
    local asks=no
    if [ -t 0 ] && [ -t 2 ] && [ -z "${CI:-}" ]; then asks=yes; fi
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || { say "not root, and no sudo: install them as root, and run it again"; exit 2; }
        sudo=(sudo)
        if [ "$asks" = no ]; then sudo+=(--non-interactive); fi # a password cannot be typed
    fi
    if [ "$asks" = yes ]; then
        read -r -p "setup: install them with apt-get? [Y/n] " answer
        case $answer in '' | y* | Y*) ;; *) say "nothing was installed"; exit 2 ;; esac
    fi
    say "installing them with apt-get"
    if ! { timeout 600 "${sudo[@]}" "${apt[@]}" update &&
        timeout 1800 "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
            "${apt[@]}" install -y --no-install-recommends "${packages[@]}" >/dev/null; }; then
        say "apt-get failed, see above; tried with Debian 12 and 13 and Ubuntu 24.04 in mind"
        exit 1
    fi
    say "installed"
}

# -- .venv ------------------------------------------------------------------------

make_venv() {
    local python stamp
    python=$(find_python)
    if [ -z "$python" ]; then
        say "no Python 3.11 or newer was found on PATH; install one (Debian 12 and Ubuntu 24.04 have it)"
        exit 2
    fi
    # Made again when what it is made from has changed; the place and the version are in it, too.
    stamp=$( (cat pyproject.toml; grep '^version:' galaxy.yml; pwd; "$python" -V) | sha256sum | cut -d' ' -f1)
    if .venv/bin/python -c '' 2>/dev/null && [ "$(cat .venv/stamp 2>/dev/null)" = "$stamp" ]; then return; fi
    say "making .venv (ansible-core and the tools of the tests; a minute or two)"
    rm -rf .venv
    "$python" -m venv .venv
    timeout 1800 .venv/bin/python -m pip install -qq --disable-pip-version-check \
        --editable '.[test]'
    echo "$stamp" >.venv/stamp
}

# One at a time: two `make` in one checkout would make .venv under each other's feet.
mkdir -p .cache
exec 9>.cache/setup.lock
flock -w 1800 9 || { say "another setup has been running for half an hour (.cache/setup.lock)"; exit 1; }

mapfile -t wanted < <(missing)
if [ ${#wanted[@]} -gt 0 ]; then install "${wanted[@]}"; fi
make_venv
