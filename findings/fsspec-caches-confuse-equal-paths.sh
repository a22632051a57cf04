#!/usr/bin/env bash
# fsspec 2026.9.0 (PyPI): simplecache, filecache and blockcache name a cached file by its path within the file system
# that they wrap. The archive, endpoint or directory of that file system is not part of the name. With one cache_storage
# for two of them the second is never read: its readers get the bytes of the first, without an error.
#
# The docstring of the caches promises the opposite: URLs are hashed so that files from different backends do not
# conflict. Training and validation sets in archives with equal member names, a bucket and its mirror behind another
# endpoint, and two DirFileSystem roots are exchanged like this. blockcache even joins blocks of both sources in one
# file. Issues 633 and 735 are about object versions and same_names=True; this needs neither. filecache with
# check_files=True notices the other archive; simplecache has no such option. Without cache_storage all are right.
#
# Seen (what the second source's reader gets; s3fs 2026.9.0, two moto 5.2.5 servers with different bytes at one key):
#   members of two zip or tar files:   simplecache first, filecache first, filecache with check_files second
#   one key at two S3 endpoints:       simplecache first, filecache first
#                                      blockcache 1 MiB of the first, then 1 MiB of the second
#   one name in two DirFileSystems:    simplecache first, filecache first
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
servers=
trap '[ -z "$servers" ] || kill $servers 2> /dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fsspec==2026.9.0 s3fs==2026.9.0 "moto[s3,server]==5.2.5"

cat > serve.py << 'END'
import signal
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
with open(sys.argv[1], "w") as file:
    file.write("http://{}:{}\n".format(*server.get_host_and_port()))
signal.pause()
END
for name in first second; do
    venv/bin/python serve.py "$name.url" 2> "$name.log" &
    servers="$servers $!"
done
for _ in $(seq 100); do [ -s first.url ] && [ -s second.url ] && break; sleep 0.2; done

venv/bin/python - << 'END'
import io
import os
import tarfile
import zipfile
import fsspec
from fsspec.implementations.dirfs import DirFileSystem

MIB = 1 << 20
here = os.getcwd()
contents = {"first": b"1" * 2 * MIB, "second": b"2" * 2 * MIB}
origin = {data: name for name, data in contents.items()}
endpoints = {}
for name, data in contents.items():
    os.mkdir(name)
    with open(f"{name}/sample", "wb") as file:
        file.write(data)
    with zipfile.ZipFile(f"{name}.zip", "w") as archive:
        archive.writestr("sample", data)
    with tarfile.open(f"{name}.tar", "w") as archive:
        member = tarfile.TarInfo("sample")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    with open(f"{name}.url") as file:
        endpoints[name] = {"endpoint_url": file.read().strip(), "key": "key", "secret": "secret"}
    s3 = fsspec.filesystem("s3", **endpoints[name])
    s3.mkdir("bucket")
    s3.pipe("bucket/sample", data)

def chained(kind, name):
    if kind == "s3":
        return "s3://bucket/sample", {"s3": endpoints[name]}
    return f"{kind}://sample::file://{here}/{name}.{kind}", {}

def in_turn(cache, kind, storage, **options):
    read = []
    for name in contents:
        url, more = chained(kind, name)
        settings = {"cache_storage": storage, **options} if storage else options
        with fsspec.open(f"{cache}::{url}", **{cache: settings}, **more) as file:
            read.append(origin[file.read()])
    return read

right, wrong = ["first", "second"], ["first", "first"]
for cache in ("simplecache", "filecache"):
    for kind in ("zip", "tar", "s3"):
        shared, own = in_turn(cache, kind, f"{cache}-{kind}"), in_turn(cache, kind, None)
        print(f"{cache}, {kind}: one cache_storage {shared}, none {own}")
        assert shared == wrong
        assert own == right
for kind in ("zip", "tar"):
    checked = in_turn("filecache", kind, f"checked-{kind}", check_files=True)
    print(f"filecache, {kind}, check_files: {checked}")
    assert checked == right
for cache in ("simplecache", "filecache"):
    read = []
    for name in contents:
        directory = DirFileSystem(f"{here}/{name}", fs=fsspec.filesystem("file"))
        with fsspec.filesystem(cache, fs=directory, cache_storage=f"{cache}-directories").open("sample") as file:
            read.append(origin[file.read()])
    print(f"{cache}, directories: {read}")
    assert read == wrong

def blocks(name):
    cached = fsspec.filesystem("blockcache", target_protocol="s3", target_options=endpoints[name], cache_storage="blocks")
    return cached.open("bucket/sample", block_size=MIB)

with blocks("first") as file:
    file.read(MIB - 1)
with blocks("second") as file:
    joined = file.read()
print(f"blockcache, s3: {joined.count(b'1') // MIB} MiB of the first, {joined.count(b'2') // MIB} MiB of the second")
assert joined == b"1" * MIB + b"2" * MIB
END
