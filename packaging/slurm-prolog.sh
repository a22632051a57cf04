#!/bin/sh
# Slurm's Prolog: starts the agent of the node for a job, unless one runs. Prolog=/etc/slurm/prolog.d/50-ioassay.sh
# Before: ioassay watch prepare SETUP.yaml -o /etc/ioassay/agent
# A prolog that fails drains the node, so this one never does: a job goes on unwatched rather than not at all.
agent=${IOASSAY_AGENT:-/usr/bin/ioassay-agent}
setup=/etc/ioassay/agent/agent.json
run=/run/ioassay
jobs=$run/jobs
registrations=$run/registrations

is_agent() { # after a crash the number may be that of another process
    grep -qsaF "$setup" "/proc/$1/cmdline"
}

mkdir -p -m 0755 "$run" && mkdir -p -m 0700 "$jobs" || exit 0
: > "$jobs/${SLURM_JOB_ID:-unknown}"
(
    flock -w 10 9 || exit 0 # an epilog that ends the agent may hold it: the agent is started after that
    pid=$(cat "$run/agent.pid" 2> /dev/null)
    if [ -n "$pid" ] && is_agent "$pid"; then
        exit 0
    fi
    rm -f "$registrations/agent"
    setsid "$agent" "$setup" --registrations "$registrations" < /dev/null > /dev/null 2>> "$run/agent.log" 9>&- &
    echo "$!" > "$run/agent.pid"
    for _ in $(seq 40); do # what the job records registers as soon as it begins
        [ -e "$registrations/agent" ] && break
        sleep 0.05
    done
) 9> "$run/lock"
exit 0
