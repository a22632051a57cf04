from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.testing.storage_nodes import nfs_client
from ioassay.tuning.check import Asked, examine
from ioassay.tuning.rule import Change, Fine


def _asked(*settings: str, storage: str | None = "onefs") -> Asked:
    return Asked.of(
        transfer=None, raid=None, storage=storage, rules=["onefs-endurant-cache"], storage_settings=settings
    )


@pytest.mark.parametrize(("value", "kind"), [("0", Fine), ("1", Change)])
def test_a_setting_of_the_storage_that_the_user_read_is_judged(value: str, kind: type) -> None:
    (finding,) = examine([nfs_client().snapshot()], _asked(f" efs.bam.ec.mode = {value} ")).findings
    assert [type(one) for one in finding.judgements] == [kind]


@pytest.mark.parametrize(
    ("settings", "storage", "message"),
    [
        (["efs.bam.ec.mode"], "onefs", "--storage-setting efs.bam.ec.mode: not NAME=VALUE."),
        (["=1"], "onefs", "--storage-setting =1: not NAME=VALUE."),
        (["efs.bam.ec.mode="], "onefs", "--storage-setting efs.bam.ec.mode=: not NAME=VALUE."),
        (["efs.bam.ec.mod=1"], "onefs", "--storage-setting efs.bam.ec.mod=1: no rule knows `efs.bam.ec.mod`."),
        (["coalescer=a", "coalescer=b"], "onefs", "--storage-setting coalescer is given twice."),
        (["coalescer=a"], None, "--storage-setting needs --storage."),
    ],
)
def test_other_settings_of_the_storage_are_refused(settings: list[str], storage: str | None, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        _asked(*settings, storage=storage)
    assert raised.value.message == message
    assert raised.value.remedy
