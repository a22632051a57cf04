"""Contracts, setups and dashboards as data for the agent, its view in a terminal, and formats of other monitors.

contract          YAML → the rules that agents enforce, and back; `calls` has the names of calls
rule_check        checks of rules from any kind of file
explanation       rules in sentences, and the changes of a contract
setup             YAML → the setup of an agent: sinks, spool, contract
lustre            throttle rules as limits of Lustre's servers
recorded_alerts   rules that were broken in a record
view              the terminal's view
mistral           Mistral's contracts, logs and plug-ins
reference         the reference pages of contracts and setups
"""
