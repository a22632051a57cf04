#!/usr/bin/env bash
# Looks for an NFS server for the tests, which cannot be fetched: nfs-ganesha with its VFS module, and rpcbind. Prints how
# it is started; what must follow is `PLACE DIRECTORY`, an empty directory for the server's own files and the one that it
# exports as /export. What it then prints first is `nfs PID SERVER`, and it ends with its standard input. Clients must be in
# the network of the process PID, which is its own: it has a loopback interface and nothing else. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for program in ganesha.nfsd rpcbind unshare nsenter ip; do
    if ! PATH=$PATH:/usr/sbin:/sbin command -v "$program" > /dev/null; then
        echo "$program is missing: apt-get install nfs-ganesha nfs-ganesha-vfs rpcbind libnfs13 iproute2 util-linux" >&2
        exit 1
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "only root can start nfs-ganesha on a directory" >&2
    exit 1
fi
echo "unshare --net --mount --pid --fork --kill-child $here/nfs/serve.sh"
