"""Mistral's contracts, logs and plug-ins, so that a site's tools for Mistral keep working.

    terms           Mistral's words, quantities and size ranges
    contract_file   contract files
    log             log lines
    plugin_stream   the protocol between Mistral and an output plug-in
    mapping         Mistral's rules ↔ rules of ioassay
    alerts          Mistral's log entries ↔ alerts of ioassay

Formats: the user manual 2.14, and of the repository ellexus/mistral_plugins `common/plugin_control.c`,
`man/man3/mistral_plugin.h.3`, `docs/mistral_plugin_api.md`. Not: starting plug-ins (the agent does), update plug-ins.
"""
