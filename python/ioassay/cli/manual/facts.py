"""Facts about all commands, for every manual page, or for that of `ioassay`."""

from __future__ import annotations

from typing import Final

EXIT_STATUS: Final = {
    0: "Success",
    1: "Completed, but a case or an acceptance criterion failed, a number is invalid or a figure could not be drawn",
    2: "Wrong usage or bad input",
    3: "Could not run, or was interrupted",
}

ENVIRONMENT: Final = {
    "IOASSAY_ENGINE": "The engine to start, instead of `ioassay-engine` beside this program or on `PATH`",
    "IOASSAY_AGENT": "The agent to start, instead of `ioassay-agent` beside this program or on `PATH`",
    "IOASSAY_CACHE": "Where MPI connectors and storage plug-ins are kept after they are built; all nodes must be able "
    "to read it. Default: `ioassay` in `XDG_CACHE_HOME`, otherwise `~/.cache/ioassay`",
    "IOASSAY_LAB_CACHE": "Where labs keep what they build. Default: `~/.cache/ioassay/lab`",
    "IOASSAY_TUNING_JOURNAL": "The journals of `ioassay tune`, as `--journal`",
    "IOASSAY_BROWSER": "The browser that prints PDFs. Default: Chromium or Chrome on `PATH`",
    "COLUMNS": "The width of tables where the output is not a terminal",
    "NO_COLOR": "If set, no colours on a terminal",
}

FILES: Final = {
    "runs/TIME-STUDY": "What `ioassay run` and `ioassay import` store, unless `--out` names another place",
    "records/TIME-COMMAND": "What `ioassay record` stores",
}
