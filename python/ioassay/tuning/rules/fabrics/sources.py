"""Documents that several of these rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

NVME_MULTIPATH = Source("Linux, NVMe multipath", "https://docs.kernel.org/admin-guide/nvme-multipath.html")
NVME_FABRICS = Source(
    "Linux 6.12, drivers/nvme/host/fabrics.c: nvmf_parse_options, and fabrics.h: NVMF_DEF_QUEUE_SIZE (128)",
    "https://github.com/torvalds/linux/blob/v6.12/drivers/nvme/host/fabrics.c",
)
NVME_CONNECT = Source(
    "nvme-cli, nvme-connect(1)",
    "https://github.com/linux-nvme/nvme-cli/blob/master/Documentation/nvme-connect.txt",
)

NO_FABRICS = "no controller of NVMe over fabrics is connected, or none lies below the target"
