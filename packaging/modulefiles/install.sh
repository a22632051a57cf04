#!/bin/sh
# Installs ioassay into a software tree, with module files for Lmod and Environment Modules:
#   install.sh WHEEL|REQUIREMENT TREE/VERSION [DIRECTORY OF MODULEPATH]     such as: install.sh ioassay==0.1.0 /opt/apps/ioassay/0.1.0
# It asks PyPI, or with PIP_NO_INDEX=1 and PIP_FIND_LINKS=DIRECTORY takes the wheels that are there.
set -eu
[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
what=$1 root=$2 modules=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
[ ! -e "$root" ] || { echo "$root exists already: remove it, or install another version" >&2; exit 1; }

trap 'rm -rf "$root"' EXIT # half an installation is none
"${PYTHON:-python3}" -m venv "$root"
"$root/bin/pip" install --quiet --disable-pip-version-check "$what"
mkdir "$root/commands"
for command in ioassay ioassay-engine ioassay-agent; do
    ln -s "../bin/$command" "$root/commands/$command"
done
"$root/commands/ioassay" --version
if [ -n "$modules" ]; then
    mkdir -p "$modules/ioassay"
    tree=$(dirname "$root") version=$(basename "$root")
    sed "s#/opt/apps/ioassay#$tree#" "$here/ioassay.lua" > "$modules/ioassay/$version.lua"
    sed "s#/opt/apps/ioassay#$tree#" "$here/ioassay.tcl" > "$modules/ioassay/$version"
fi
trap - EXIT
