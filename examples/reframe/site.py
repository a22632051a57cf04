"""A site of one machine, whose jobs ReFrame starts itself.

A partition of a cluster has the scheduler of its own, for example `slurm`, and the launcher `local` too: what ReFrame
starts is one `ioassay`, which starts its ranks itself (`launcher` in storage.py).
"""

site_configuration = {
    "systems": [
        {
            "name": "laptop",
            "descr": "One machine with a disk",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "disk",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["builtin"],
                    "max_jobs": 1,  # two tests at once would measure each other
                }
            ],
        }
    ],
}
