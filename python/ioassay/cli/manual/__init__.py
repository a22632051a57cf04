"""The manual pages, made of what `--help` is made of, so that neither can be older than the program.

    python -m ioassay.cli.manual DIR

    troff           how text becomes the source of a page
    command_pages   the pages of `ioassay` and its commands
    program_pages   the pages of `ioassay-engine` and `ioassay-agent`, made of what they print for --help
    facts           what all commands share: exit status, environment, files

Not: where packages put them.
"""
