"""Studies: questions written as YAML, and the cases that answer them.

    source      YAML → a tree in which every value knows its line
    resolve     settings, scales and `--set` filled in; everything checked
    model       every option, once; validate, sweep: what is refused
    cases       the sweep in the order in which it runs, each case with the engine's plan
    method, ior what the report says of it
    library     the built-in studies

Not: launching cases, reading results.
"""

from ioassay.studies.cases import expand
from ioassay.studies.library import builtin_studies, find_study
from ioassay.studies.resolve import ResolvedStudy, resolve
from ioassay.studies.source import StudyError, StudySource, parse_study, read_study

__all__ = [
    "ResolvedStudy",
    "StudyError",
    "StudySource",
    "builtin_studies",
    "expand",
    "find_study",
    "parse_study",
    "read_study",
    "resolve",
]
