"""Documents that several of these rules go by, and what the rules share."""

from __future__ import annotations

from ioassay.tuning.rule import Source

TUNING = Source(
    "IBM Storage Scale, Parameters for performance tuning and optimization",
    "https://www.ibm.com/docs/en/storage-scale/5.2.1?topic=configuring-parameters-performance-tuning-optimization",
)
CACHES = Source(
    "IBM Storage Scale, Cache usage",
    "https://www.ibm.com/docs/en/storage-scale/6.0.1?topic=considerations-cache-usage",
)
PROTOCOL_NODES = Source(
    "IBM Elastic Storage Server, GPFS configuration parameters for protocol nodes",
    "https://ibm.com/support/knowledgecenter/en/SSYSP8_5.3.1/com.ibm.ess.v5r31.qdg.doc/bl8qdg_protoclnodesgpfsparams.htm",
)
MMCHCONFIG = Source(
    "IBM Storage Scale, mmchconfig",
    "https://www.ibm.com/support/knowledgecenter/en/STXKQY_4.2.1/com.ibm.spectrum.scale.v4r21.doc/bl1adm_mmchconfig.htm",
)

NO_GPFS = "this node has no GPFS configuration"
NO_FILE_SYSTEMS = "the snapshot has no output of mmlsfs, because this node has no GPFS"
