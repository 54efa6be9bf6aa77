#!/usr/bin/env bash
# The main job on the lab, step by step, each as a user would type it. Stops at the first step
# that does not end as it should.
#
#   KEEP=1 leaves the lab up (the default on a terminal); KEEP=0 takes it down at the end.
set -euo pipefail

name=${DEMO_LAB:-demo}
export TRACKBED_INVENTORY
keep=${KEEP:-$([ -t 1 ] && echo 1 || echo 0)}
started=$SECONDS

cleanup() {
    local rc=$?
    if [ "$keep" != 1 ]; then trackbed lab down --name "$name" || true; fi
    exit "$rc"
}
trap cleanup EXIT

step() { printf '\n\033[1m== %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }

# Run a command, show it, and require its exit code.
want() {
    local code=$1 rc=0
    shift
    printf '$ %s\n' "$*"
    "$@" || rc=$?
    if [ "$rc" -ne "$code" ]; then
        printf 'demo: exit code %s, but %s was wanted of: %s\n' "$rc" "$code" "$*" >&2
        exit 1
    fi
}

step "Four simulated H100 nodes"
want 0 trackbed lab up --name "$name" --nodes 4 --sku h100-sxm
TRACKBED_INVENTORY=$(trackbed lab status --name "$name" --json |
    python -c 'import json, sys; print(json.load(sys.stdin)["inventory"])')
printf '$ export TRACKBED_INVENTORY=%s\n' "$TRACKBED_INVENTORY"

step "What would change? (nothing is touched)"
want 0 trackbed site --check

step "Make them alike, and prove it"
want 0 trackbed up

step "A second run changes nothing"
printf '$ trackbed site --json\n'
trackbed site --json | python -c '
import json, sys
changed = {row["node"]: row["changed"] for row in json.load(sys.stdin)["nodes"]}
print("changed:", changed)
sys.exit(any(changed.values()))' || { echo "demo: a second run changed something" >&2; exit 1; }

step "One GPU of one node trains its PCIe link at Gen4"
want 0 trackbed lab fault --name "$name" gpu-003/gpu:5 pcie_gen4
want 3 trackbed validate

step "Mended: level again"
want 0 trackbed lab fault --name "$name" gpu-003/gpu:5 pcie_gen4 --clear
want 0 trackbed validate
want 0 trackbed runs list

printf '\nDone in %s s.\n' "$((SECONDS - started))"
if [ "$keep" = 1 ]; then
    printf 'The lab is up: trackbed lab shell --name %s gpu-001\nTake it down: trackbed lab down --name %s\n' \
        "$name" "$name"
fi
