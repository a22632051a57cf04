"""Commands on other hosts, for whatever needs a helper there.

    hosts       what was typed → hosts, and how a command gets onto one: a lab's namespaces, ssh, a step of a job
    process     a command on a host that ends with us, whatever ends us

Not: what is run there (`ioassay.net`, `ioassay.monitoring`), ranks (`ioassay.launchers`).
"""

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10"
"""How hosts are reached that are no lab's, unless something else is asked."""
