"""`moosefs`: MooseFS, a master and chunk servers on the servers, mounted on every client by its FUSE client."""

from __future__ import annotations

from typing import Self

from ioassay.lab.record import Target
from ioassay.lab.requirements import Command, Requirement
from ioassay.lab.site import Process, Site, until_usable
from ioassay.text.units import format_count
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.values import Count, Size

_COMMON = """\
WORKING_USER = root
WORKING_GROUP = root
LOCK_MEMORY = 0
DATA_PATH = {data}
"""

_MASTER = """\
EXPORTS_FILENAME = {data}/exports.cfg
CHUNKS_LOOP_MIN_TIME = 60
MATOML_LISTEN_HOST = {address}
MATOCS_LISTEN_HOST = {address}
MATOCL_LISTEN_HOST = {address}
"""

_CHUNKSERVER = """\
HDD_CONF_FILENAME = {data}/disks.cfg
MASTER_HOST = {master}
CSSERV_LISTEN_HOST = {address}
CSSERV_LISTEN_PORT = {port}
"""

_EXPORTS = "* / rw,alldirs,maproot=0:0\n"
_NO_METADATA_YET = "MFSM NEW"
_CHUNKSERVERS_PORT, _CLIENTS_PORT = 9420, 9421
"""Ports of the master."""
_FIRST_PORT = 9422


class MooseFs(Part):
    """MooseFS."""

    chunkservers: Count = Field(
        default=2, description="Chunk servers, assigned to the servers in turn, each with its own disk."
    )
    size: Size | None = Field(default=None, description="Size of those disks. Default: the lab's `disk`.")
    copies: Count = Field(default=1, description="Chunk servers that hold a copy of each chunk (MooseFS's goal).")

    @model_validator(mode="after")
    def _enough_servers(self) -> Self:
        if self.copies > self.chunkservers:
            raise ValueError(f"keeps {self.copies} copies on {self.chunkservers} chunk servers; add chunk servers")
        return self

    def requirements(self) -> list[Requirement]:
        return [
            Command("mfsmaster", "moosefs-master"),
            Command("mfschunkserver", "moosefs-chunkserver"),
            Command("mfsmount", "moosefs-client"),
        ]

    def start(self, site: Site) -> Target:
        master = _start_master(site)
        for number in range(1, self.chunkservers + 1):
            _start_chunkserver(site, number, self.size)
        # What is written before all of them have reported has fewer copies for a while.
        master.until(lambda: site.server.connections(_CHUNKSERVERS_PORT) >= self.chunkservers)
        point = site.mount_point("moosefs")
        for host in site.clients:
            host.run("mfsmount", "-H", site.server.address, "-S", "/", point)
        # Removed files would stay in a trash for a day, and a lab's disks are small.
        site.clients[0].run("mfssettrashtime", "-r", "0", point)
        site.clients[0].run("mfssetgoal", "-r", str(self.copies), point)
        for host in site.clients:
            until_usable(host, point)
        copies = "one copy" if self.copies == 1 else f"{self.copies} copies"
        servers = format_count(len(site.servers), "server")
        about = f"MooseFS, {format_count(self.chunkservers, 'chunk server')} on {servers}, {copies} of each chunk"
        return Target(storage="moosefs", about=about, kind="directory", place=point, api="posix")


def _start_master(site: Site) -> Process:
    data = site.directory("moosefs/master")
    site.write(f"{data}/metadata.mfs", _NO_METADATA_YET)
    site.write(f"{data}/exports.cfg", _EXPORTS)
    settings = (_COMMON + _MASTER).format(data=data, address=site.server.address)
    daemon = site.server.start("mfsmaster", "mfsmaster", "-f", "-c", site.write(f"{data}/mfsmaster.cfg", settings))
    daemon.until(lambda: site.server.listens(_CLIENTS_PORT))
    return daemon


def _start_chunkserver(site: Site, number: int, size_bytes: int | None) -> None:
    server = site.server_of(number)
    name = f"chunkserver{number}"
    data = site.directory(f"moosefs/{name}")
    site.write(f"{data}/disks.cfg", site.disk(name, "xfs", size_bytes, server=server) + "\n")
    port = _FIRST_PORT + number - 1
    settings = (_COMMON + _CHUNKSERVER).format(data=data, master=site.server.address, address=server.address, port=port)
    configuration = site.write(f"{data}/mfschunkserver.cfg", settings)
    daemon = server.start(name, "mfschunkserver", "-f", "-c", configuration)
    daemon.until(lambda: server.listens(port))
