"""Studies: questions written as YAML, and the cases that answer them.

    source      YAML → a tree in which every value knows its line
    extends     a study that changes another → one tree
    resolve     settings, scales and `--set` filled in; everything checked; references: where settings are used
    shorthand   what may be written shorter, written out
    model       every option, once, with files, steps, values, spelling
    validate    what is refused before there is a plan, with sweep and check_steps
    refusals    what the engine refuses of a plan, with the line of the study
    cases       the sweep in the order in which it runs, each case with the engine's plan (plans)
    target      where the I/O goes, as typed; suitable_targets: whether a study is for it
    method, commands   what the report says of it
    library     the built-in studies

Not: launching cases, reading results.

How to add a study or a key: docs/development/studies.md.
"""
