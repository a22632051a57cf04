#!/usr/bin/env bash
# Exports DIRECTORY as /export over NFS version 3: serve.sh PLACE DIRECTORY. It is the first process of a process
# namespace, so that everything ends with it, and has a network namespace, so that nobody else reaches it.
set -euo pipefail
place=$1
directory=$2
export PATH=$PATH:/usr/sbin:/sbin

# This process as everybody outside knows it: /proc is still theirs.
read -r self _ < /proc/self/stat

ip link set lo up
# Sockets, locks and lists of both servers.
mount -t tmpfs none /run
mkdir -p /run/rpcbind /run/ganesha "$place/recovery"
cat > "$place/ganesha.conf" <<END
NFS_CORE_PARAM {
    Protocols = 3;
    mount_path_pseudo = true;
    Enable_NLM = false;
    Enable_RQUOTA = false;
}
NFSv4 { RecoveryRoot = $place/recovery; }
# What tests change behind its back, it shall see at once.
MDCACHE { Dir_Chunk = 0; }
EXPORT {
    Attr_Expiration_Time = 0;
    Export_Id = 1;
    Path = $directory;
    Pseudo = /export;
    Access_Type = RW;
    Squash = No_Root_Squash;
    Protocols = 3;
    Transports = TCP;
    SecType = sys;
    FSAL { Name = VFS; }
}
END
rpcbind -f -w > "$place/rpcbind.log" 2>&1 &
(
    read -r server _ < /proc/self/stat
    echo "$server" > "$place/pid"
    exec ganesha.nfsd -F -f "$place/ganesha.conf" -L "$place/ganesha.log" -p "$place/ganesha.pid" > /dev/null 2>&1 < /dev/null
) &
for _ in $(seq 200); do
    if rpcinfo -t 127.0.0.1 nfs 3 > /dev/null 2>&1 && rpcinfo -t 127.0.0.1 mountd 3 > /dev/null 2>&1; then
        echo "nfs $self $(cat "$place/pid")"
        # Until whoever started it closes the other end, or ends.
        cat > /dev/null
        exit
    fi
    sleep 0.1
done
echo "nfs-ganesha does not answer:" >&2
tail "$place/ganesha.log" >&2
exit 1
