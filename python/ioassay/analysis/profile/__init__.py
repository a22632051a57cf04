"""What a profile comes down to. Pure: a profile in, estimates and findings out.

    totals      calls, bytes and time by direction and by operation; time in I/O against run time
    phases      bursts of I/O, separated by quiet
    peers       processes that do the same work, and how unequal they are
    coverage    what the kernel counted against what calls and maps explain; all that was not seen
    maps        bounds of what mapped files moved, which no call says
    thresholds  limits of rules, and where each comes from
    findings    one file each
    workflow    which step feeds which through files, and what happens to files
    patterns    in which order requests come

    measured_limits         limits from runs on the same storage
    comparison              two profiles class by class: ratios, distances of sizes and of time lines
    condition_differences   what two profiles are not alike in before their I/O is compared
    file_changes            files of both, and of either
    finding_changes         findings that are new, gone, in both

Not: reading a profile (`profiles.records`), words (`reports.profile`), drawing (`figures`).
"""
