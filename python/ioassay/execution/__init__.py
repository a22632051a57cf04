"""Runs a study: all plans checked first, then case after case through the launcher, results kept as they come.

    prepare          what was asked → cases and plans, checked against the target → a new run directory
    places           what was typed after --target and --clients, and what that is at this moment
    plan_check       what all cases need, asked of the engine before anything is written
    execute          case after case; what a failure or a signal means for the rest of the run
    early_stop       which repetitions the study's stop rule makes unnecessary
    slurm_job        a whole run as a job of Slurm
    clean            removes what an interrupted run left on the target
    run_owner        whose a run directory is: what another user's says is not executed
    engine_start     how the engines of a run are started: launcher, nodes, secrets
    engine_process   one engine process: started, followed, stopped
    node_probe       one engine on each node alone: which of them the launcher reaches
    interruption     SIGINT, SIGTERM and SIGHUP as something to ask for, not an exception
    watcher          what the display is told

This side never touches the target: that is the engine's, on the nodes where it is mounted.
Not: what a study means (`studies`), rows and files of results (`results`), printing (`cli`).
"""
