"""Examines a site before a run costs an hour, and says how to fix the problems it finds.

    facts     the results, as plain values
    collect   collects them: from this node, the launcher, and the nodes through the launcher and the engine's `survey`
    checks/   pure functions from facts to verdicts, one for each line, and their registry
    verdict   ok, warning, failed or not checked; the observation; the remedy
    examine   runs one check after the other, as far as possible

Not: running studies, printing (`cli`).
"""
