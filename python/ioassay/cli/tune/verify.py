"""`ioassay tune verify`: whether applied settings still hold."""

from __future__ import annotations

from ioassay.cli.tune.journal_option import AsJson, JournalPlace
from ioassay.errors import UsageError

_DRIFTED = 1


def verify(*, journal: JournalPlace = None, as_json: AsJson = False) -> int:
    """Compare applied settings with what they are now.

    Reads all open journals. The exit code is 1 if a setting has drifted.
    """
    import json  # noqa: PLC0415

    from ioassay.cli.output import print_error, show  # noqa: PLC0415
    from ioassay.reports import tuning_changes  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.tuning.journal import default_place, open_journals  # noqa: PLC0415
    from ioassay.tuning.verify import applied_settings  # noqa: PLC0415

    place = journal or default_place()
    opened = open_journals(place)
    settings = [setting for state in opened.states.values() for setting in applied_settings(state)]
    if as_json:
        print(json.dumps({"version": 1, "settings": tuning_changes.drift_document(settings)}, indent=2))
    elif settings:
        show(rendered(tuning_changes.drift_blocks(settings)))
    elif not opened.damaged:
        print(f"Nothing is applied: no journal in {place} is open.")
    for error in opened.damaged:
        print_error(error)
    if opened.damaged:
        return UsageError.exit_code
    return _DRIFTED if any(setting.has_drifted for setting in settings) else 0
