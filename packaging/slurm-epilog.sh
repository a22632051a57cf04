#!/bin/sh
# Slurm's Epilog: ends the agent that slurm-prolog.sh started, after the last job of the node.
run=/run/ioassay
jobs=$run/jobs

rm -f "$jobs/${SLURM_JOB_ID:-unknown}"
(
    flock -w 10 9 || exit 0
    [ -z "$(ls -A "$jobs" 2>/dev/null)" ] || exit 0
    if [ -s "$run/agent.pid" ]; then
        kill "$(cat "$run/agent.pid")" 2>/dev/null # it delivers what it has, or leaves it in the spool
        rm -f "$run/agent.pid"
    fi
) 9> "$run/lock"
exit 0
