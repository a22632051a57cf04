"""Experiments: parameters with values, an objective, a budget; what is best, whether it really beats today's.

    experiment  what is asked, from YAML or the command line (`options`)
    prepare     what was asked becomes a document, with today's values and what rules recommend
    pairs       when a point has been measured often enough: interleaved with today's settings, in pairs
    search      which point comes next: the whole grid when it is small, otherwise Optuna, the rules' points first
    objective   what one run of the study says of the objective
    switch      the values in force, under the journal of settings
    loop        search, confirmation with fresh pairs, contribution of each parameter; resumable
    trials      what was measured, by point
    answer      what the measurements say, with intervals

What is stored of it is `store.sweep_document`. Not: how settings are changed and put back (`tuning.apply`), what the
answer looks like (`reports.sweep`).
"""
