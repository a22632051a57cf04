"""What people write for ioassay, in YAML: studies, labs.

    source      text → a tree in which every value knows its line
    values      kinds of values that keys take; a model is made of them
    validate    a tree → a model, every error with its line

Not: which keys there are (`studies.model`, `lab.model`).
"""
