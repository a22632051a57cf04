"""Experiments: parameters with values, an objective, a budget; what is best, and whether it truly beats today's.

    experiment   what is asked, from YAML or the command line
    parameters   a parameter: where its values go, and which it has today
    pairs        when a point has been measured often enough: interleaved with today's settings, in pairs
    search       which point comes next: the whole grid when it is small, otherwise Optuna, the rules' points first
    measurement  one run of the study with some values in force, and what the objective is in it
    loop         search, confirmation with fresh pairs, contribution of each parameter; resumable
    answer       what the measurements say, with intervals

What is stored of it is `results.sweep_document`. Not: how settings are changed and put back (`tuning.apply`), what the
answer looks like (`reports.tuning`).
"""
