"""`gluster`: GlusterFS, a volume over bricks on the servers, mounted on every client by its FUSE client."""

from __future__ import annotations

from functools import partial
from typing import Self

from ioassay.lab.record import Target
from ioassay.lab.requirements import Command, Requirement
from ioassay.lab.site import Host, Site, until_usable
from ioassay.lab.waiting import until
from ioassay.text.units import format_bytes, format_count
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.values import Count, Size

_VOLUME = "lab"

_MANAGEMENT = """\
volume management
    type mgmt/glusterd
    option working-directory {work}
    option run-directory {work}
    option glusterd-sockfile {work}/socket
    option transport-type socket
    option transport.address-family inet
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option transport.socket.bind-address {address}
    option transport.socket.listen-port 24007
end-volume
"""


class Gluster(Part):
    """GlusterFS."""

    bricks: Count = Field(default=2, description="Bricks, assigned to the servers in turn, each on its own disk.")
    size: Size | None = Field(default=None, description="Size of those disks. Default: the lab's `disk`.")
    replicas: Count = Field(default=1, description="Bricks that hold a copy of each file; a divisor of `bricks`.")
    shard: Size | None = Field(
        default=None,
        description="Size of the shards of files. Default: no sharding, a whole file on one brick.",
    )

    @model_validator(mode="after")
    def _has_whole_sets(self) -> Self:
        if self.bricks % self.replicas:
            raise ValueError(
                f"keeps {self.replicas} copies on {self.bricks} bricks; use a multiple of copies as bricks"
            )
        return self

    def requirements(self) -> list[Requirement]:
        return [
            Command("glusterd", "glusterfs-server"),
            Command("gluster", "glusterfs-cli"),
            Command("glusterfs", "glusterfs-client"),
        ]

    def start(self, site: Site) -> Target:
        # These directories are compiled in, and must stay separate from the machine's own GlusterFS.
        site.private("/var/lib/glusterd")
        for server in site.servers:
            _start_daemon(site, server)
        for server in site.servers[1:]:
            _gluster(site.server, "peer", "probe", server.name)
            until(partial(_is_friend, site.server, server), f"{server.name} to join the pool")
        self._make_volume(site)
        point = site.mount_point("gluster")
        for host in site.hosts:
            mount(host, site.server, point)
        for host in site.hosts:
            until_usable(host, point)
        placed = f"in shards of {format_bytes(self.shard)}" if self.shard else "a whole file on one brick"
        copies = f", {self.replicas} copies" if self.replicas > 1 else ""
        about = (
            f"GlusterFS, {format_count(self.bricks, 'brick')} on {format_count(len(site.servers), 'server')}, "
            f"{placed}{copies}"
        )
        return Target(storage="gluster", about=about, kind="directory", place=point, api="posix")

    def _make_volume(self, site: Site) -> None:
        bricks = []
        for number in range(1, self.bricks + 1):
            server = site.server_of(number)
            disk = site.disk(f"brick{number}", "xfs", self.size, server=server)
            bricks.append(f"{server.name}:{disk}/brick")
        replicated = ["replica", str(self.replicas)] if self.replicas > 1 else []
        _gluster(site.server, "volume", "create", _VOLUME, *replicated, *bricks, "force")
        settings = {"features.shard": "on", "features.shard-block-size": str(self.shard)} if self.shard else {}
        for name, value in settings.items():
            _gluster(site.server, "volume", "set", _VOLUME, name, value)
        _gluster(site.server, "volume", "start", _VOLUME)


def _work(server: Host) -> str:
    return f"/run/gluster/{server.name}"


def _start_daemon(site: Site, server: Host) -> None:
    server.private("/run/gluster")
    work = _work(server)
    server.run("mkdir", "-p", work)
    volume = site.write(
        f"{site.directory(f'gluster-{server.name}')}/glusterd.vol",
        _MANAGEMENT.format(work=work, address=server.address),
    )
    daemon = server.start("glusterd", "glusterd", "-N", "-f", volume, "-p", f"{work}/pid", "-l", "/dev/stderr")
    daemon.until(lambda: server.space.attempt(*_command(server, "volume", "list")).returncode == 0)


def _command(server: Host, *words: str) -> list[str]:
    return ["gluster", f"--glusterd-sock={_work(server)}/socket", "--mode=script", *words]


def _gluster(server: Host, *words: str) -> str:
    return server.run(*_command(server, *words))


def _is_friend(server: Host, other: Host) -> bool:
    pool = _gluster(server, "pool", "list").splitlines()
    return any(other.name in line and "Connected" in line for line in pool)


def mount(host: Host, server: Host, point: str) -> None:
    """Mounts the volume on a host."""
    log = f"/run/ioassay/logs/{host.name}-glusterfs.log"
    host.run("glusterfs", f"--volfile-server={server.name}", f"--volfile-id={_VOLUME}", f"--log-file={log}", point)
