"""Estimates become figures: one file per figure, a function that returns an Altair chart.

A figure draws what analysis computed, with units on its axes, and computes no number of its own. Not: files,
captions, pages (`ioassay.reports`).
"""
