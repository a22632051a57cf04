"""The storage that a site needs, and the capacity and rates of a given one: every step of the arithmetic shown.

    arithmetic      numbers with a unit, what their digits leave open, and where they come from
    quantities      figures as people write them in YAML, each with its source
    components      what a catalogue can say: drives, enclosures, servers, …, bricks built of them
    configuration   what a file of configurations can say
    requirements    what a file of requirements can say
    catalogue       built-in and own components together, and their figures as numbers with an origin
    capacity        drives → usable bytes
    rates           the lowest ceiling on the path of each kind of I/O, also degraded
    prediction      what a study should measure on a configuration
    evaluate        a configuration → all that follows from it
    builtin         the catalogue of published hardware; `configurations`: published configurations

Not: measuring, what published systems reached (`ioassay.systems`), words and pictures (`ioassay.reports.sizing`).

How to add hardware, a layout, a file system or a limit: docs/development/sizing.md.
"""
