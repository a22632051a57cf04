"""Output of launchers that lost a node, from four hosts called client1 to client4."""

from __future__ import annotations

import pytest

from ioassay.launchers.failure_messages import is_lost, losses, meaning, telling

PRTE = """\
[client1:07492] plm:ssh: Warning: setpgid(7495,7495) failed in parent with errno=Permission denied(13)
ssh: connect to host client3 port 22: Connection refused
------------------------------------------------------------
A daemon failed to report back after being spawned. This could
be due to several factors, including inability to find the
daemon executable, or the executable was unable to find its
required supporting libraries. In some cases, the daemon was
able to execute, but was unable to complete a TCP connection
back to prterun:

  Local host:    client1
  Remote host:   client3
  Daemon exit status: 255

This may also be caused by a firewall on the remote host. Please
check that any firewall (e.g., iptables) has been disabled and
try again.
------------------------------------------------------------
"""

HYDRA_SSH = """\
ssh: connect to host client3 port 22: Connection timed out
[mpiexec@client1] ui_cmd_cb (/mpich-5.0.2/src/pm/hydra/mpiexec/pmiserv_pmci.c:51): Launch proxy failed.
[mpiexec@client1] HYD_pmci_wait_for_completion (/mpich-5.0.2/src/pm/hydra/mpiexec/pmiserv_pmci.c:180): error waiting
"""

HYDRA_KILLED = """\

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 2143 RUNNING AT client3
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
[proxy:1@client2] HYD_pmcd_pmip_control_cmd_cb (/mpich-5.0.2/src/pm/hydra/proxy/pmip_cb.c:490): assert (!closed) failed
[proxy:3@client4] main (/mpich-5.0.2/src/pm/hydra/proxy/pmip.c:123): demux engine error waiting for event
[mpiexec@client1] main (/mpich-5.0.2/src/pm/hydra/mpiexec/mpiexec.c:270): process manager error waiting for completion
"""

SRUN = """\
srun: error: Task launch for StepId=9.0 failed on node client3: Communication connection failure
srun: error: Application launch failed: Communication connection failure
srun: Job step aborted: Waiting up to 7 seconds for job step to finish.
slurmstepd-client1: error: *** STEP 9.0 ON client1 CANCELLED AT 2026-11-23T01:43:25 ***
srun: error: client1: tasks 0-1: Killed
"""

ORTE = """\
Connection to client3 closed by remote host.
--------------------------------------------------------------------------
ORTE has lost communication with a remote daemon.

  HNP daemon   : [[57620,0],0] on node client1
  Remote daemon: [[57620,0],2] on node client3

This is usually due to either a failure of the TCP network
connection to the node, or possibly an internal failure of
the daemon itself. We cannot recover from this failure, and
therefore will terminate the job.
--------------------------------------------------------------------------
[client1:00939] 1 more process has sent help message help-errmgr-base.txt / node-died
[client1:00939] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages
"""

ORTE_SSH = """\
ssh: connect to host client3 port 22: Connection refused
--------------------------------------------------------------------------
ORTE was unable to reliably start one or more daemons.
This usually is caused by:

* not finding the required libraries and/or binaries on
  one or more nodes. Please check your PATH and LD_LIBRARY_PATH
  settings, or configure OMPI with --enable-orterun-prefix-by-default
--------------------------------------------------------------------------
--------------------------------------------------------------------------
ORTE does not know how to route a message to the specified daemon
located on the indicated node:

  my node:   client1
  target node:  client2

This is usually an internal programming error that should be
reported to the developers. In the meantime, a workaround may
be to set the MCA param routed=direct on the command line or
in your environment. We apologize for the problem.
--------------------------------------------------------------------------
[client1:03229] 1 more process has sent help message help-errmgr-base.txt / no-path
[client1:03229] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages
"""

PRTE_ABORT = """\
[client4:00000] *** An error occurred in Socket closed
[client4:00000] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
--------------------------------------------------------------------------
prterun has exited due to process rank 6 with PID 1332 on node client4 calling
"abort". This may have caused other processes in the application to be
terminated by signals sent by prterun (as reported here).
--------------------------------------------------------------------------
\0
"""

LOST = {
    ORTE_SSH: "ssh: connect to host client3 port 22: Connection refused",
    PRTE: "ssh: connect to host client3 port 22: Connection refused",
    HYDRA_SSH: "ssh: connect to host client3 port 22: Connection timed out",
    HYDRA_KILLED: "PID 2143 RUNNING AT client3",
    SRUN: "srun: error: Task launch for StepId=9.0 failed on node client3: Communication connection failure",
    ORTE: "Connection to client3 closed by remote host.",
    PRTE_ABORT: "prterun has exited due to process rank 6 with PID 1332 on node client4 calling "
    '"abort". This may have caused other processes in the application to be',
}


@pytest.mark.parametrize("printed", LOST)
def test_the_line_that_names_the_lost_node_comes_first_and_no_frame_with_it(printed: str) -> None:
    lines = telling(printed)
    assert lines[0] == LOST[printed]
    assert not any("client2" in line or "----" in line or "help message" in line for line in lines)
    assert is_lost(printed, begun=False)


def test_only_engines_report_lost_nodes_after_the_start() -> None:
    # MPICH's launcher continues without ssh, and so does the run.
    assert not is_lost("Connection to client3 closed by remote host.\n", begun=True)
    assert is_lost("ioassay-engine: no heartbeat from client1 for 5 s\n  try: check the node\n", begun=True)


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "Warning: Permanently added 'client3' (ED25519) to the list of known hosts.\n",
        "[1795397694.668853] [client1:947  :0]       tag_match.c:62   UCX  WARN  unexpected tag-receive descriptor\n",
        "[client1:07492] plm:ssh: Warning: setpgid(7495,7495) failed in parent with errno=Permission denied(13)\n",
    ],
)
def test_noise_is_not_a_loss(printed: str) -> None:
    assert losses(printed) == []
    assert not is_lost(printed, begun=False)


def test_a_refused_connection_says_what_to_try() -> None:
    explanation = meaning(PRTE)
    assert explanation is not None
    assert "sshd" in explanation.remedy
