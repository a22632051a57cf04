"""Analysis of profiles. Pure: a profile in, estimates and findings out.

    totals      calls, bytes and time by direction and by operation; time in I/O against run time
    phases      bursts of I/O, separated by pauses
    peers       processes that do the same work, and their imbalances
    coverage    the kernel's counters against calls and maps; I/O that was not recorded
    maps        bounds of the bytes that mapped files moved without calls
    thresholds  limits of rules, with their origins
    findings    one file for each kind
    workflow    steps that pass data on through files, and what happens to files
    patterns    the order of requests

    measured_limits         limits from runs on the same storage
    comparison              two profiles class by class: ratios, distances of sizes and of time lines
    condition_differences   conditions of two profiles that differ
    file_changes            files of both profiles, and of only one
    finding_changes         findings that are new, gone, or in both

Not: reading a profile (`profiles.records`), words (`reports.profile`), drawing (`figures`).
"""
