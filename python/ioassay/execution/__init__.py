"""Runs a study: all plans checked first, then case after case through the launcher, results kept as they come.

    prepare    what was asked → cases and plans, checked against the target → a new run directory
    check      what all cases need, asked of the engine before anything is written
    execute    case after case; what a failure or a signal means for the rest of the run
    spare      which repetitions the study's stop rule makes unnecessary
    clean      removes what an interrupted run left on the target
    process    one engine process: started, followed, stopped
    interruption   SIGINT, SIGTERM and SIGHUP as something to ask for, not an exception
    watcher    what the display is told

This side never touches the target: that is the engine's, on the nodes where it is mounted.
Not: what a study means (`studies`), rows and files of results (`results`), printing (`cli`).
"""
