"""What a profile comes down to. Pure: a profile in, estimates and findings out.

    totals      calls, bytes and time by direction and by operation; time in I/O against run time
    phases      bursts of I/O, separated by quiet
    peers       processes that do the same work, and how unequal they are
    coverage    what the kernel counted and the recorder did not
    thresholds  limits of rules, and where each comes from
    findings    one file each

Not: reading a profile (`results.records`), words (`reports.profile`), drawing (`figures`).
"""
