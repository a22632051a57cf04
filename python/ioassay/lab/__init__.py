"""The lab: real storage systems and several hosts on one machine, without a cluster.

A lab is a process in namespaces of its own (PID, mounts, network, host name, IPC), and everything of the lab lives
inside them: servers are its descendants, hosts are further network and mount namespaces, disks are files without a
name behind loop devices that detach themselves. So nothing has to be remembered in order to be undone: when that one
process ends, by `lab down`, a kill or a reboot, the kernel takes all of it away.

    model, library    a lab as YAML, and the built-in ones
    requirements      what a lab needs of the machine; `install` installs what is missing, when asked
    build_cache       what no package has, built once
    namespaces        the process, and running commands inside
    process_handle    a process held by its directory in /proc
    record            what a lab says of itself once it is ready, and where its files are
    disk, network     its disks and links
    ssh, slurm        what can be started over its hosts
    storage/          one file per kind of storage system: options, start, readiness
    site              what those build on
    up                starts one; `running` finds those that run; `status` says what they consist of
    waiting           looking again until a condition holds

Not: I/O on the storage (the engine's), which study runs on it, launchers.
"""
