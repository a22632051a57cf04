"""Plans as the control plane reads them: what they amount to (`sizes`) and what they say, in words (`text`).

A kind of work has its words in `kinds`, one file each, listed in `registry`. Amounts are the engine's: nothing is added
up here. Not: making plans (`studies.plans`), and their results in stored runs (`store`).
"""
