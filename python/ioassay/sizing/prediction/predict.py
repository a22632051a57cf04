"""A study on a configuration: each spot by the model of what it does, or the reason why there is none.

Not: models (`data`, `metadata`), choosing configuration and study (the command).
"""

from __future__ import annotations

from ioassay.errors import UsageError
from ioassay.sizing.prediction import data, metadata
from ioassay.sizing.prediction.model import Predicted, Prediction, SeriesName, Spot
from ioassay.sizing.prediction.spots import spots
from ioassay.sizing.prediction.storage import Storage
from ioassay.studies.resolve import ResolvedStudy
from ioassay.text.units import format_count

_REASONS_SHOWN = 3


def predict(study: ResolvedStudy, storage: Storage, name: str, title: str = "") -> Prediction:
    """The expected results of `study` on the configuration `name`, whose `storage` has the inputs of a prediction.

    Raises `UsageError` where no point of the study can be predicted.
    """
    series: dict[SeriesName, list[Predicted]] = {}
    for spot in spots(study):
        series.setdefault(spot.series, []).append(_predicted(storage, spot))
    whole = tuple((series_name, tuple(points)) for series_name, points in series.items())
    prediction = Prediction(study.entry, name, title, whole, _remarks(storage, whole))
    if all(point.value is None for point in prediction.points):
        reasons = list(dict.fromkeys(point.why_not for point in prediction.points))
        more = len(reasons) - _REASONS_SHOWN
        reasons_text = " ".join(reasons[:_REASONS_SHOWN])
        if more > 0:
            reasons_text += f" There {'is' if more == 1 else 'are'} {format_count(more, 'more reason')}."
        raise UsageError(
            f"Nothing of the study {study.entry.name} can be predicted on {name}. {reasons_text}",
            "Add the rates to a catalogue of your own, or choose a study that moves data in files of their own.",
        )
    return prediction


def _remarks(storage: Storage, series: tuple[tuple[SeriesName, tuple[Predicted, ...]], ...]) -> tuple[str, ...]:
    if storage.link is not None or all(point.method != "bounds" for _, points in series for point in points):
        return ()
    return (
        "The configuration has no `clients`, so what their links carry is no limit here; with `count` and `link` of "
        "them the range is narrower.",
    )


def _predicted(storage: Storage, spot: Spot) -> Predicted:
    by_model = _by_model(storage, spot)
    if by_model.value is not None and storage.clients is not None and spot.clients > storage.clients:
        return Predicted(spot, None, why_not=f"The configuration has {format_count(storage.clients, 'client')}.")
    return by_model


def _by_model(storage: Storage, spot: Spot) -> Predicted:
    if not spot.is_alone:
        return Predicted(spot, None, why_not="What jobs or operations side by side take from one another is unknown.")
    if spot.job.layout in metadata.LAYOUTS:
        return metadata.predict(storage, spot)
    if spot.job.file_set:
        return data.predict(storage, spot)
    return Predicted(spot, None, why_not=f"The catalogue has no rates of the operation {spot.operation}.")
