#!/usr/bin/env bash
# versitygw 1.8.0 (Go module), S3 over a directory: with `--nometa`, for file systems that have no extended attributes,
# multipart uploads begin, take every part, return its ETag, and can never be completed.
#
# The ETag of a part is kept in an extended attribute, which --nometa leaves out, and is compared when the upload is
# completed. So whatever a client sends in parts, as most do from some size on, fails at the end, after all bytes were
# sent, while small objects work. Each failed upload leaves its parts in the bucket until somebody aborts it.
#
# Seen: PUT of an object 200; a part 200 with an ETag; CompleteMultipartUpload 400 InvalidPart; the part is still there.
# Without --nometa, on the same file system: 200.
# Needs: go, curl 7.75 or newer, a file system with extended attributes under the temporary folder.
set -euo pipefail
scratch=$(mktemp -d)
gateway=
trap '[ -z "$gateway" ] || kill "$gateway" 2> /dev/null || true; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch"

GOPATH=$scratch/go GOBIN=$scratch GOFLAGS=-modcacherw go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
head -c 5242880 /dev/zero > part

# The status of a request for the object; what is answered stands in `answer` and `headers`.
s3() {
    curl --silent --show-error --user key:secretsecret --aws-sigv4 aws:amz:us-east-1:s3 \
        --header "x-amz-content-sha256: UNSIGNED-PAYLOAD" --output answer --dump-header headers \
        --write-out '%{http_code}' "${@:2}" "http://127.0.0.1:$port/bucket/object$1"
}

# Uploads an object and one of a single part to a gateway that is started with these options.
upload() {
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir -p "$1/bucket"
    ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=secretsecret ./versitygw --port "127.0.0.1:$port" posix "${@:2}" "$1" > log 2>&1 &
    gateway=$!
    for _ in $(seq 100); do curl --silent --output answer "http://127.0.0.1:$port/" && break; sleep 0.1; done
    object=$(s3 "" --upload-file part)
    s3 "?uploads=" --request POST > /dev/null
    id=$(sed -n 's/.*<UploadId>\([^<]*\).*/\1/p' answer)
    part=$(s3 "?partNumber=1&uploadId=$id" --upload-file part)
    etag=$(tr -d '\r' < headers | awk 'tolower($1) == "etag:" { print $2 }')
    complete="<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>$etag</ETag></Part></CompleteMultipartUpload>"
    completed=$(s3 "?uploadId=$id" --request POST --data "$complete")
    said=$(grep -o 'InvalidPart' answer | head -n 1 || true)
    s3 "?uploadId=$id" > /dev/null
    parts=$(grep -o '<PartNumber>1</PartNumber>' answer | wc -l)
    kill "$gateway"
    wait "$gateway" 2> /dev/null || true
    gateway=
    echo "object $object, part $part, etag ${etag:+given}, complete $completed $said, parts left $parts"
}

without=$(upload one --nometa)
with=$(upload two)
echo "with --nometa: $without"
echo "without:       $with"
test "$without" = "object 200, part 200, etag given, complete 400 InvalidPart, parts left 1"
test "$with" = "object 200, part 200, etag given, complete 200 , parts left 0"
