"""A site of one machine, whose jobs ReFrame starts itself.

Of a cluster's partition the scheduler is its own, for example `slurm`, and the launcher stays `local`: a job is one
`ioassay`, which starts its ranks on the nodes of the job by `--launcher srun`.
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
