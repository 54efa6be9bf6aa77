#!/usr/bin/env bash
# Run `ansible-test sanity` on the collection, as it is in the working tree (tracked files only).
#
# ansible-test wants a real .../ansible_collections/NAMESPACE/NAME directory: inside the link
# farm under collections/ it passes while it tests nothing. So the files go into a temporary copy.
#
# usage: scripts/sanity.sh [ansible-test sanity arguments]
#   TRACKBED_SANITY_TREE=DIR   take the tracked files of this checkout instead of our own
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
tree=${TRACKBED_SANITY_TREE:-$root}
cache=${TRACKBED_CACHE:-$root/.cache}/sanity
limit=${TRACKBED_SANITY_LIMIT:-900} # seconds; 20 warm and 90 cold on two cores

python=$(command -v python) || {
    echo "sanity: no python on PATH; run it by \`make lint\`, or activate .venv" >&2
    exit 2
}
ansible_test=$(dirname "$python")/ansible-test
[ -x "$ansible_test" ] || {
    echo "sanity: there is no $ansible_test; run \`make setup\`" >&2
    exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy=$work/ansible_collections/trackbed/cluster
mkdir -p "$copy"

# What belongs to the collection is what the link farm names, and its sanity ignore files.
mapfile -d '' -t entries < <(
    cd "$tree" && find collections/ansible_collections/trackbed/cluster -mindepth 1 -maxdepth 1 \
        -printf '%f\0'
)
git -C "$tree" ls-files -z -- "${entries[@]}" tests/sanity |
    (cd "$tree" && while IFS= read -r -d '' file; do
        if [ -e "$file" ]; then printf '%s\0' "$file"; fi # deleted, and not committed yet
    done) |
    tar -C "$tree" --null --files-from=- -cf - | tar -C "$copy" -xf -
git -C "$copy" init -q
git -C "$copy" add -A

# A home of its own: ansible-test keeps environments in ~/.ansible and must not mix with the
# user's. What pip was told there still holds.
home=$cache/home
mkdir -p "$home/.ansible/test/cache" "$home/.config"
[ ! -d "$HOME/.config/pip" ] || ln -sfn "$HOME/.config/pip" "$home/.config/pip"
[ ! -d "$HOME/.pip" ] || ln -sfn "$HOME/.pip" "$home/.pip"

# ansible-test fetches a script that installs pip from a site of its own; with ensurepip the
# package index alone is enough. The file's name holds the version of pip that it wants.
internal=$("$python" -c 'import ansible_test, pathlib; print(pathlib.Path(ansible_test.__path__[0]))')
for version in $(sed -n "s/.*\bpip='\([0-9.]*\)'.*/\1/p" "$internal/_internal/python_requirements.py"); do
    cat >"$home/.ansible/test/cache/get_pip_${version//./_}.py" <<'PYTHON'
import subprocess
import sys

subprocess.run([sys.executable, "-m", "ensurepip", "--upgrade"], check=True)
PYTHON
done

path=$("$python" "$root/scripts/pythons.py" path "$cache/pythons")

cd "$copy"
HOME=$home PATH=$path timeout --kill-after=20 "$limit" "$ansible_test" sanity --requirements --color no "$@" || {
    rc=$?
    [ "$rc" -ne 124 ] || echo "sanity: not done after ${limit} s (TRACKBED_SANITY_LIMIT)" >&2
    exit "$rc"
}
