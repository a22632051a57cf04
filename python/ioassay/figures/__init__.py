"""Estimates become figures: one file per figure, a function that returns a Vega-Lite specification.

    theme             the look that all of them share
    vega_lite         the parts of specifications that they share
    picture           a figure that was drawn, the data behind it, and the words around it
    render            a chart as SVG, the same bytes for the same chart
    drawing           has figures drawn by a process of its own, `drawing_process`, with `drawing_messages`

A figure draws what analysis computed, with units on its axes, and computes no number of its own. Not: files,
captions, pages (`ioassay.reports`).

How to add one: docs/development/reports.md.
"""
