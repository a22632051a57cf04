#!/usr/bin/env bash
# Builds an S3 server for the tests, once, into target/servers. Prints how it is started; what must follow is
# `--port 127.0.0.1:PORT posix DIRECTORY`, the directories in which are its buckets. Needs Go.
set -euo pipefail
version=v1.8.0
place=$(dirname "$0")/../../target/servers
mkdir -p "$place"
place=$(cd "$place" && pwd)
exec 9>"$place/s3.lock"
flock 9
if [ ! -x "$place/versitygw-$version" ]; then
    # Everything that Go leaves stays inside the checkout too, and can be removed.
    GOPATH=$place/go GOCACHE=$place/go/cache GOBIN=$place/go/bin GOFLAGS=-modcacherw \
        go install "github.com/versity/versitygw/cmd/versitygw@$version" >&2
    mv "$place/go/bin/versitygw" "$place/versitygw-$version"
    rm -rf "$place/go"
fi
echo "$place/versitygw-$version --quiet"
