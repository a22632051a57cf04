#!/bin/sh
# Installs ioassay into /opt/ioassay from the wheelhouse of a release, without any network: install.sh WHEELHOUSE.tar
set -eu
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
tar --extract --file "$1" --directory "$wheels"
python3 -m venv /opt/ioassay
/opt/ioassay/bin/pip install --quiet --disable-pip-version-check --no-index --find-links "$wheels" ioassay
mkdir /opt/ioassay/commands # without the environment's python
for command in ioassay ioassay-engine ioassay-agent; do
    ln -s "../bin/$command" "/opt/ioassay/commands/$command"
done
/opt/ioassay/commands/ioassay --version
