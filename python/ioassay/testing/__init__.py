"""Builders for tests: realistic results without a storage system.

    builder            a run of writes and reads, from a rate model; `stored` makes a run directory of it
    measured_study     a run of any study, as if its cases had been measured
    isilon             the shape of the built-in study `isilon-2018`
    faulty_run         a run that has every kind of finding
    nightly_runs       runs of one study, one each night
    front_end_run      what a front end of the engine leaves in a run directory
    net_measurement    what `ioassay net` would have measured
    importer_samples   results of other tools, and ways to damage them
    damage             stored directories that were damaged, and everything that is done with one
    tuned_machine      machines whose settings are changed, made up and real
    lustre_server      files of counters of a Lustre server, in the formats of its versions
    hung_mount         a mount whose server does not answer
    determinism        what a program prints in processes of its own

Not: anything that ships behaviour.
"""
