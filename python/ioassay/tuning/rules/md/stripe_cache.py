"""The memory in which md completes stripes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.rules.md.sources import MD_GUIDE, MD_MANUAL, NO_ARRAYS
from ioassay.tuning.system import System
from ioassay.tuning.system.md import MdArray, md_arrays

_PAGE_BYTES = 4096
_LEAST, _MOST = 1024, 32768
_MOST_OF_MEMORY = 0.02
_BOUNDS = Bounds(
    Source("Linux, RAID arrays: stripe_cache_size (default 256)", "https://docs.kernel.org/admin-guide/md.html"),
    least=256,
    below="it holds less than the kernel's default, so that hardly a stripe is completed before it is written",
    unit="pages",
)


def _judge(system: System) -> Iterator[Judgement]:
    return each(md_arrays(system.concerned()), lambda array: _array(array, system.memory_bytes), otherwise=NO_ARRAYS)


def _array(array: MdArray, memory_bytes: int) -> Iterator[Judgement]:
    if not array.has_parity:
        yield NotApplicable(f"{array.name} is {array.level or 'not assembled'}, which has no parity to compute")
        return
    now = array.device.number("md/stripe_cache_size")
    if now is None:
        yield missing(f"/sys/block/{array.name}/md/stripe_cache_size")
        return
    wanted = _wanted(array, memory_bytes)
    if now >= wanted:
        yield Fine(array.name, f"{now} pages a member")
    else:
        cost = wanted * array.disks * _PAGE_BYTES
        because = f"that takes {cost >> 20} MiB of memory: {wanted} pages × {array.disks} members × 4 KiB"
        assignment = Assignment(f"block:{array.name}/md/stripe_cache_size", str(wanted))
        breach = _BOUNDS.breach(now)
        yield Change(
            array.name,
            f"{now} pages a member",
            f"{wanted} pages a member",
            f"{breach}; {because}" if breach else because,
            (assignment,),
            is_harmful=bool(breach),
        )


def _wanted(array: MdArray, memory_bytes: int) -> int:
    """Two chunks for each member, up to the next power of two, within what the node's memory allows."""
    pages = 2 * array.disks * array.chunk_bytes // _PAGE_BYTES
    wanted = min(max(_LEAST, 1 << max(pages - 1, 0).bit_length()), _MOST)
    while memory_bytes and wanted > _LEAST and wanted * array.disks * _PAGE_BYTES > _MOST_OF_MEMORY * memory_bytes:
        wanted //= 2
    return wanted


RULE = Rule(
    name="md-stripe-cache",
    title="Enlarge the stripe cache of md arrays with parity",
    area="MD RAID",
    reason="Writes wait in the stripe cache until their stripe is whole. When concurrent streams fill its 256 pages a "
    "member, incomplete stripes are written, for which md reads the rest first.",
    risk="The memory is pages × members × 4 KiB, taken at once: too large a value runs the node out of memory. Small "
    "random writes gain little, and their latency can rise. The value is lost when the array is stopped. The formula, "
    "twice the members times the chunk, is a vendor's rule of thumb.",
    sources=(
        MD_MANUAL,
        MD_GUIDE,
        Source("ClickHouse, Usage recommendations: RAID", "https://clickhouse.com/docs/operations/tips#raid"),
    ),
    judge=_judge,
    parameters=("stripe_cache_size",),
    bounds={"stripe_cache_size": _BOUNDS},
)
