"""Runs a study: checks all plans first, then runs case after case through the launcher and stores results at once.

    prepare          a request → cases and plans, checked against the target → a new run directory
    places           resolves --target and --clients to what they are now
    plan_check       has the engine check all plans before anything is written
    execute          case after case; how a failure or a signal affects the rest of the run
    early_stop       repetitions that the study's stop rule makes unnecessary
    accelerator_search  which number of accelerators is measured next, until it is known how many storage feeds
    slurm_job        a whole run as a job of Slurm
    clean            removes the leftovers of an interrupted run from the target
    run_owner        the owner of a run directory: nothing in another user's is executed
    engine_start     how the engines of a run are started: launcher, nodes, secrets
    engine_process   starts, follows and stops one engine process
    node_probe       starts one engine on each node: which nodes the launcher reaches
    interruption     SIGINT, SIGTERM and SIGHUP as a flag to poll, not an exception
    watcher          the interface of displays

The control plane never touches the target: the engine does, on the nodes where it is mounted.
Not: the contents of a study (`studies`), result files (`store`), printing (`cli`).
"""
