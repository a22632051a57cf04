"""`s3`: S3 as versitygw speaks it, a gateway over a directory of a lab's disk or of its GlusterFS.

It never syncs (strace shows no such call): an acknowledged object may still be only in memory.
"""

from __future__ import annotations

import os
import secrets
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from ioassay.errors import CannotRun
from ioassay.lab import build_cache
from ioassay.lab.record import Target
from ioassay.lab.requirements import Built, Command, Requirement
from ioassay.lab.site import Site
from ioassay.yaml_models.model import BeforeValidator, Field, Part
from ioassay.yaml_models.values import text_of

_VERSION = "v1.8.0"
_NAME = f"versitygw-{_VERSION}"
_MODULE = f"github.com/versity/versitygw/cmd/versitygw@{_VERSION}"

_PORT = 7070
_REGION = "us-east-1"
_BUCKET = "lab"

Below = Annotated[Literal["disk", "gluster"], BeforeValidator(text_of)]


class S3(Part):
    """An S3 gateway."""

    over: Below = Field(
        default="disk",
        description="Where objects are stored: `disk`, its own xfs, or `gluster`, the lab's GlusterFS.",
    )

    def requirements(self) -> list[Requirement]:
        go = Command("go", "golang-go")
        return [Built(f"versitygw {_VERSION}", _program(), f"go install {_MODULE}", _build, needs=(go,))]

    def start(self, site: Site) -> Target:
        directory = f"{self._place(site)}/s3"
        site.server.run("mkdir", "-p", f"{directory}/{_BUCKET}")  # a bucket is a directory
        endpoint = f"http://{site.server.name}:{_PORT}"
        access, secret = secrets.token_hex(10), secrets.token_hex(20)
        gateway = site.server.start(
            "versitygw",
            str(_program()),
            "--quiet",
            "--port",
            f"{site.server.address}:{_PORT}",
            "--region",
            _REGION,
            "posix",
            directory,
            environment={"ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret},
        )
        gateway.until(lambda: site.server.listens(_PORT))
        for client in site.clients:
            gateway.until(partial(client.http_status, endpoint), f"to answer {client.name}")
        return Target(
            storage="s3",
            about=f"S3 (versitygw {_VERSION}) over {'GlusterFS' if self.over == 'gluster' else 'xfs'}, never synced",
            kind="url",
            place=f"s3://{_BUCKET}?endpoint={endpoint}&region={_REGION}",
            api="object",
            environment={"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": _REGION},
        )

    def _place(self, site: Site) -> str:
        if self.over == "disk":
            return site.disk("s3", "xfs", server=site.server)
        return next(target.place for target in site.targets if target.storage == self.over)


def _program() -> Path:
    return build_cache.directory() / _NAME / "versitygw"


def _build() -> None:
    build_cache.build(_NAME, _install)


def _install(bench: build_cache.Workbench) -> None:
    settings = os.environ.get("GOENV") or str(Path.home() / ".config/go/env")  # it may name a proxy
    try:
        bench.run(
            "go",
            "install",
            _MODULE,
            GOENV=settings,
            GOPATH=str(bench.scratch / "go"),
            GOCACHE=str(bench.scratch / "cache"),
            GOBIN=str(bench.result),
            GOFLAGS="-modcacherw",
        )
    except CannotRun as error:
        raise CannotRun(
            error.message, "Building it needs Go 1.21 or newer (https://go.dev/dl) and a network."
        ) from None
