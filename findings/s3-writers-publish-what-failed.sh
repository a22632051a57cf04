#!/usr/bin/env bash
# s3fs 2026.9.0 and pyarrow 26.0.1 (PyPI): if a writer fails inside `with fs.open(...)` or `fs.open_output_stream(...)`,
# leaving the block uploads what was written so far and replaces the object that was there. The exception goes on, and
# the reader finds a shorter object without any sign of it.
#
# S3 itself makes an object visible whole or not at all, and people trust in it: a job that is cancelled or runs out of
# memory in the middle of a checkpoint "cannot" harm the last good one. Formats without a footer (arrays, JSON lines,
# CSV, logs) show nothing. smart_open 9.0.2 and obstore 0.12.1 give the upload up and keep the old object, and so does
# s3fs inside of `with fs.transaction`. Known for pyarrow as issue 40502, open.
#
# Seen for an object of 1,000,000 bytes whose rewrite fails after 1000 bytes and after 12 MiB (a multipart upload):
#   s3fs, pyarrow: replaced by 1000 bytes, and by 12 MiB
#   smart_open, obstore, s3fs in a transaction: kept
# Needs: python3 with venv.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "moto[s3,server]==5.2.5" s3fs==2026.9.0 pyarrow==26.0.1 \
    "smart_open[s3]==9.0.2" obstore==0.12.1 boto3==1.43.117

cat > publish.py << 'END'
import boto3
import obstore
import pyarrow.fs
import s3fs
import smart_open
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = "http://{}:{}".format(*server.get_host_and_port())
client = boto3.client(
    "s3", endpoint_url=url, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
)
client.create_bucket(Bucket="bucket")
by_s3fs = s3fs.S3FileSystem(endpoint_url=url, key="key", secret="secret")
by_pyarrow = pyarrow.fs.S3FileSystem(endpoint_override=url, access_key="key", secret_key="secret", region="us-east-1")
by_obstore = S3Store(
    "bucket", endpoint=url, access_key_id="key", secret_access_key="secret", region="us-east-1",
    client_options={"allow_http": True},
)  # fmt: skip

def failing(stream, length):
    with stream as file:
        file.write(b"n" * length)
        raise InterruptedError

def in_transaction(length):
    with by_s3fs.transaction:
        failing(by_s3fs.open("bucket/key", "wb"), length)

writers = {
    "s3fs": lambda length: failing(by_s3fs.open("bucket/key", "wb"), length),
    "pyarrow": lambda length: failing(by_pyarrow.open_output_stream("bucket/key"), length),
    "smart_open": lambda length: failing(
        smart_open.open("s3://bucket/key", "wb", transport_params={"client": client}), length
    ),
    "obstore": lambda length: failing(obstore.open_writer(by_obstore, "key"), length),
    "s3fs in a transaction": in_transaction,
}
good = b"g" * 1_000_000
for writer, write in writers.items():
    for length in (1000, 12 << 20):
        client.put_object(Bucket="bucket", Key="key", Body=good)
        try:
            write(length)
        except InterruptedError:
            now = client.get_object(Bucket="bucket", Key="key")["Body"].read()
            kept = "kept" if now == good else f"replaced by {now.count(b'n')}"
            print(f"{writer}, failed after {length}: {kept}")
server.stop()
END
AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret venv/bin/python publish.py 2> errors | tee seen
for writer in s3fs pyarrow; do
    for length in 1000 12582912; do grep -qx "$writer, failed after $length: replaced by $length" seen; done
done
test "$(grep -c ': kept$' seen)" = 6
