"""Where a metadata server keeps its metadata."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.beegfs.sources import META_FILE, META_TUNING, NO_DAEMON
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, daemons


def _judge(system: System) -> Iterator[Judgement]:
    return each(daemons(system, "meta"), _meta, otherwise=NO_DAEMON)


def _meta(one: Service) -> Iterator[Judgement]:
    if one.flag("storeUseExtendedAttribs") is False:
        because = "each access reads a small file where the inode would do"
        command = f"make the metadata target anew with storeUseExtendedAttribs = true in {one.path}"
        yield Change(one.name, "file contents", "extended attributes", because, command=command)
    else:
        yield Fine(one.name, "extended attributes")


RULE = Rule(
    name="beegfs-metadata-attributes",
    title="Keep BeeGFS metadata in extended attributes",
    area="BeeGFS",
    reason="Extended attributes are stored with the inode by file systems such as ext4, and are significantly faster "
    "than the contents of small files, says the configuration file.",
    risk="It is fixed at the first start: the target has to be made anew, with its metadata moved or restored.",
    sources=(META_FILE, META_TUNING),
    judge=_judge,
    parameters=("storeUseExtendedAttribs",),
)
