"""Publications that several rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

_MD3460 = (
    "Turek, Calleja, Taylor: Commoditisation of the High-End Research Storage Market with the Dell MD3460 & Intel "
    "Enterprise Edition Lustre, University of Cambridge"
)

LINUX_LARGE_IO = Source(f"{_MD3460}, Table 3")
RAID_LARGE_IO = Source(f"{_MD3460}, Table 4")
LUSTRE_SERVER = Source(f"{_MD3460}, Table 5")
LUSTRE_CLIENT = Source(f"{_MD3460}, Table 6")
