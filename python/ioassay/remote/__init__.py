"""Runs commands on other hosts.

    hosts       typed names → hosts, and how a command is started on one: a lab's namespaces, ssh, a step of a job
    process     a command on a host that never outlives this process

Not: the commands (`ioassay.net`, `ioassay.monitoring`), ranks (`ioassay.launchers`).
"""

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10"
"""The default way to reach hosts that are not in a lab."""
