"""YAML documents of users: studies, labs.

    source      text → a tree with the line of every value
    model       the base of models: fields with types, all checked at once
    values      types of values, of which models are made
    validate    a tree → a model, every error with its line

Not: the keys (`studies.model`, `lab.model`).
"""
