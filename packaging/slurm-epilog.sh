#!/bin/sh
# Slurm's Epilog: ends the agent that slurm-prolog.sh started, after the last job of the node.
setup=/etc/ioassay/agent/agent.json
run=/run/ioassay
jobs=$run/jobs

is_agent() { # after a crash the number may be that of another process
    grep -qsaF "$setup" "/proc/$1/cmdline"
}

rm -f "$jobs/${SLURM_JOB_ID:-unknown}"
(
    flock -w 10 9 || exit 0
    [ -z "$(ls -A "$jobs" 2> /dev/null)" ] || exit 0
    pid=$(cat "$run/agent.pid" 2> /dev/null)
    if [ -n "$pid" ] && is_agent "$pid"; then
        kill "$pid" 2> /dev/null # it delivers what it has, or leaves it in the spool
        for _ in $(seq 50); do # the agent of a next job needs the same spool
            is_agent "$pid" || break
            sleep 0.1
        done
    fi
    rm -f "$run/agent.pid"
) 9> "$run/lock"
exit 0
