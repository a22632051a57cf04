"""Requests, and how a layer cuts them: by size, at boundaries, over the members of a striped device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

PAGE_BYTES = 4096
"""The size of a page of memory. A segment of a request is at worst one page of it."""


@dataclass(frozen=True)
class Request:
    """A contiguous piece of the file on its way through a layer."""

    offset_bytes: int
    """In the file, the same on every layer."""
    size_bytes: int
    address_bytes: int
    """On what the layer addresses: the file, the object, the device, the member of a RAID."""
    member: int = 0
    """The object or member that it goes to, where a layer above has several."""

    @property
    def end_bytes(self) -> int:
        """Where it ends in the file."""
        return self.offset_bytes + self.size_bytes

    def part(self, start_bytes: int, end_bytes: int) -> Request:
        """The part between two places that are counted from its start."""
        return replace(
            self,
            offset_bytes=self.offset_bytes + start_bytes,
            size_bytes=end_bytes - start_bytes,
            address_bytes=self.address_bytes + start_bytes,
        )


def gathered(requests: Iterable[Request], page_bytes: int = PAGE_BYTES) -> list[Request]:
    """The requests of a page cache: neighbours joined, whole pages."""
    joined: list[Request] = []
    for request in requests:
        before = joined[-1] if joined else None
        start = request.offset_bytes // page_bytes * page_bytes
        end = -(-request.end_bytes // page_bytes) * page_bytes
        if before is not None and start <= before.end_bytes and before.member == request.member:
            joined[-1] = replace(before, size_bytes=max(end, before.end_bytes) - before.offset_bytes)
        else:
            address = request.address_bytes - (request.offset_bytes - start)
            joined.append(replace(request, offset_bytes=start, size_bytes=end - start, address_bytes=address))
    return joined


def split_by_size(request: Request, most_bytes: int) -> Iterator[Request]:
    """Pieces of at most `most_bytes`, counted from the start of the request, as the block layer cuts."""
    for start in range(0, request.size_bytes, most_bytes):
        yield request.part(start, min(start + most_bytes, request.size_bytes))


def split_at_boundaries(request: Request, boundary_bytes: int) -> Iterator[Request]:
    """Pieces that do not cross a multiple of `boundary_bytes` of the layer's addresses."""
    start = 0
    while start < request.size_bytes:
        to_boundary = boundary_bytes - (request.address_bytes + start) % boundary_bytes
        end = min(start + to_boundary, request.size_bytes)
        yield request.part(start, end)
        start = end


def striped(request: Request, chunk_bytes: int, members: int) -> Iterator[Request]:
    """Pieces for the members of a striped device, one chunk on each before the next one's turn."""
    for piece in split_at_boundaries(request, chunk_bytes):
        chunk, within = divmod(piece.address_bytes, chunk_bytes)
        stripe, member = divmod(chunk, members)
        yield replace(piece, address_bytes=stripe * chunk_bytes + within, member=piece.member * members + member)


def shifted(requests: Iterable[Request], shift_bytes: int) -> list[Request]:
    """Requests as a device sees them on which the layer above begins at `shift_bytes`."""
    return [replace(request, address_bytes=request.address_bytes + shift_bytes) for request in requests]
