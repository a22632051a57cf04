"""Looks at a site before a run costs an hour, and says what to do about what it finds.

    facts     what was found out, as plain values
    collect   how: of this side, of the launcher, of the nodes through the launcher and the engine's `survey`
    checks/   pure: facts in, verdicts out; a small function for each line, and the registry of all
    verdict   ok, warning, failed or not checked; what was seen; what to do
    examine   one after the other, as far as it goes

Not: what a run is, printing (`cli`).
"""
