"""`nfs`: NFS version 3 as NFS-Ganesha serves it, an export of a disk on the first server.

Where the machine's kernel has an NFS client, every client host mounts the export; where it has none, as kernels of
small virtual machines, the engine speaks NFS itself.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from ioassay.lab.record import Target
from ioassay.lab.requirements import Command, File, Requirement, search_path
from ioassay.lab.site import Host, Site, until_usable
from ioassay.lab.waiting import until
from ioassay.yaml_models.model import Part

_EXPORT = "/export"
_PORT, _MOUNT_PORT, _RPCBIND_PORT = 2049, 20048, 111

_NETCONFIG = """\
udp   tpi_clts     v inet     udp - -
tcp   tpi_cots_ord v inet     tcp - -
local tpi_cots_ord - loopback -   - -
"""
"""Transports without IPv6, which the lab's network lacks."""

_RPCBIND = """\
import os, socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    own = socket.socket(socket.AF_INET, kind)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.bind((sys.argv[1], int(sys.argv[2])))
    if kind == socket.SOCK_STREAM:
        own.listen()
    own = own.detach()
    os.set_inheritable(own, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")
os.execvp("rpcbind", ["rpcbind", "-f"])
"""
"""rpcbind listens on all addresses unless it inherits its sockets as descriptors 3 and 4, as from systemd."""

_LIBRARIES = ("libnfs.so.13", "libnfs.so.14")

_PROBE = """\
import ctypes, sys
server, export, probe, *names = sys.argv[1:]
for name in names:
    try:
        nfs = ctypes.CDLL(name)
    except OSError:
        continue
    nfs.nfs_init_context.restype = ctypes.c_void_p
    context = ctypes.c_void_p(nfs.nfs_init_context())
    done = nfs.nfs_mount(context, server.encode(), export.encode())
    sys.exit(bool(done or nfs.nfs_mkdir(context, probe.encode()) or nfs.nfs_rmdir(context, probe.encode())))
sys.exit(2)
"""


class Nfs(Part):
    """NFS version 3."""

    def requirements(self) -> list[Requirement]:
        client = (
            Command("mount.nfs", "nfs-common")
            if _kernel_has_client()
            else File(tuple(f"*/{library}" for library in _LIBRARIES), "libnfs13")
        )
        return [
            Command("ganesha.nfsd", "nfs-ganesha"),
            File(("*/ganesha/libfsalvfs.so",), "nfs-ganesha-vfs"),
            Command("rpcbind", "rpcbind"),
            client,
        ]

    def start(self, site: Site) -> Target:
        _start_server(site)
        return _mounted(site) if _kernel_has_client() else _by_url(site)


def _start_server(site: Site) -> None:
    server = site.server
    site.cover("/etc/netconfig", _NETCONFIG)
    server.run("mkdir", "-p", "/run/rpcbind")
    ports = server.start("rpcbind", sys.executable, "-I", "-c", _RPCBIND, server.address, str(_RPCBIND_PORT))
    ports.until(lambda: server.listens(_RPCBIND_PORT))
    state = site.directory("nfs")
    place = f"{site.disk('nfs', 'xfs', server=server)}/export"
    server.run("mkdir", place)
    settings = site.write(f"{state}/ganesha.conf", _settings(server.address, state, place))
    files = ["-f", settings, "-p", f"{state}/pid", "-L", "/dev/stderr"]
    daemon = server.start("ganesha", "ganesha.nfsd", "-F", "-N", "NIV_EVENT", *files)
    daemon.until(lambda: server.listens(_PORT) and server.listens(_MOUNT_PORT))


def _settings(address: str, state: str, place: str) -> str:
    """Ganesha's configuration: `place` is the exported directory, and `state` holds its own files.

    It caches neither names nor attributes, so that changes made directly on a lab's disk are visible through the
    server.
    """
    return f"""\
NFS_CORE_PARAM {{
    Protocols = 3;
    Bind_Addr = {address};
    NFS_Port = {_PORT};
    MNT_Port = {_MOUNT_PORT};
    mount_path_pseudo = true;
    Enable_UDP = false;
    Enable_NLM = false;
    Enable_RQUOTA = false;
}}
NFSv4 {{
    RecoveryRoot = {state};
}}
MDCACHE {{
    Dir_Chunk = 0;
}}
EXPORT {{
    Attr_Expiration_Time = 0;
    Export_Id = 1;
    Path = {place};
    Pseudo = {_EXPORT};
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    Protocols = 3;
    Transports = TCP;
    FSAL {{ Name = VFS; }}
}}
"""


def _mounted(site: Site) -> Target:
    """The export, mounted on every client by the kernel."""
    # Untested: the kernels of the development machines have no NFS client.
    # `soft`: a killed lab takes its server with it, and the kernel must not wait for that server for ever.
    point = site.mount_point("nfs")
    for client in site.clients:
        client.run("mount", "-t", "nfs", "-o", "vers=3,nolock,soft", f"{site.server.name}:{_EXPORT}", point)
    for client in site.clients:
        until_usable(client, point)
    about = "NFS version 3 (NFS-Ganesha), mounted by the kernel"
    return Target(storage="nfs", about=about, kind="directory", place=point, api="posix")


def _by_url(site: Site) -> Target:
    """The export, for the engine's own client."""
    for client in site.clients:
        until(partial(_takes_a_directory, client, site.server), f"{client.name}: {_EXPORT} to take a directory")
    about = "NFS version 3 (NFS-Ganesha)"
    return Target(storage="nfs", about=about, kind="url", place=f"nfs://{site.server.name}{_EXPORT}", api="nfs")


def _takes_a_directory(client: Host, server: Host) -> bool:
    probe = f"/.ioassay-ready-{client.name}"
    words = ["-I", "-c", _PROBE, server.name, _EXPORT, probe, *_LIBRARIES]
    return client.space.attempt(sys.executable, *words).returncode == 0


def _kernel_has_client() -> bool:
    """True if the kernel can mount NFS, built in or with a module that it loads on demand."""
    if "\tnfs\n" in Path("/proc/filesystems").read_text():
        return True
    modprobe = shutil.which("modprobe", path=search_path())
    return modprobe is not None and subprocess.run([modprobe, "-n", "-q", "nfs"], check=False).returncode == 0
