"""How facts are found out. Whatever does not work is a fact too: nothing here raises for what a site lacks.

    control_plane   this side
    launcher        the launcher and its MPI
    reached         the engine on each node alone
    meeting         the engine on all nodes together
    said            what commands say

Not: what is good or bad (`checks`).
"""
