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

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; fi

step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }

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

# The last validation's findings, as the journal has them, must name this one and no other.
# (`report` ends with the exit code of the validation, so that is not looked at here.)
names_only() {
    { trackbed report --json || true; } | python -c '
import json, sys
bad = [f for f in json.load(sys.stdin)["findings"] if f["verdict"] in ("fail", "warn")]
found = [" ".join((f["check"], f["entity"], f["expected"], f["actual"])) for f in bad]
if found != sys.argv[1:]:
    sys.exit(f"demo: the findings are {found}, but {sys.argv[1:]} was wanted")' "$1"
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
sys.exit(any(changed.values()) or len(changed) != 4)' || {
    echo "demo: a second run failed or changed something; zero changes on 4 nodes were wanted" >&2
    exit 1
}

step "One GPU of one node trains its PCIe link at Gen4"
want 0 trackbed lab fault --name "$name" gpu-003/gpu:5 pcie_gen4
want 3 trackbed validate
names_only "gpu_pcie_link gpu-003/gpu:5 Gen5 x16 Gen4 x16"

step "Mended: level again"
want 0 trackbed lab fault --name "$name" gpu-003/gpu:5 pcie_gen4 --clear
want 0 trackbed validate
want 0 trackbed runs list

printf '\nDone in %s s.\n' "$((SECONDS - started))"
if [ "$keep" = 1 ]; then
    printf 'The lab is up: trackbed lab shell --name %s gpu-001\nTake it down: trackbed lab down --name %s\n' \
        "$name" "$name"
fi
