"""Contracts, setups and dashboards as data for the agent, what it says in a terminal, and other monitors' formats.

contract          YAML → the rules that agents enforce, and back; calls are named by `calls`
rule_check        what holds for every rule, whatever kind of file it comes from
explanation       what rules mean in sentences, and what a contract changes
setup             YAML → what an agent is asked: sinks, spool, contract
lustre            throttle rules as limits of Lustre's servers
recorded_alerts   which rules were broken in a record
view              the terminal's view
mistral           Mistral's contracts, logs and plug-ins
reference         the reference pages of contracts and setups
"""
