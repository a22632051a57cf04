"""`ioassay size predict`: what a study should measure on a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output


def predict(
    configuration: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", help="YAML file of configurations, or the name of a built-in one.", show_default=False
        ),
    ],
    *,
    study: Annotated[
        str, typer.Option("--study", metavar="S", help="Built-in study, or YAML file of one.", show_default=False)
    ],
    name: Annotated[
        str | None,
        typer.Option("--configuration", metavar="NAME", help="Which configuration, where the file has several."),
    ] = None,
    scale: Annotated[str | None, typer.Option(metavar="SCALE", help="A scale of the study, such as quick.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the study. Repeatable.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the prediction as YAML for `ioassay compare`."),
    ] = None,
    output: Output = None,
    form: Form = None,
    as_json: AsJson = False,
) -> int:
    """Predict what a study measures on a configuration.

    Each point has a range, and what allows no more. Run the study on the real thing afterwards, and compare:
    ioassay compare prediction.yaml RUN
    """
    from ioassay.cli.output import chosen_format, print_report, say, write  # noqa: PLC0415
    from ioassay.reports.prediction import PredictionReport, as_system  # noqa: PLC0415
    from ioassay.sizing.configurations import choose, read  # noqa: PLC0415
    from ioassay.sizing.prediction.predict import predict as predicted  # noqa: PLC0415
    from ioassay.sizing.prediction.storage import storage  # noqa: PLC0415
    from ioassay.studies.library import find_study  # noqa: PLC0415
    from ioassay.studies.resolve import resolve  # noqa: PLC0415
    from ioassay.text.control_characters import encoded  # noqa: PLC0415

    wanted = chosen_format(form, output, as_json=as_json)
    resolved = resolve(find_study(study), scale, settings or [])
    file, catalogue = read(configuration)
    chosen, of = choose(file, name)
    prediction = predicted(resolved, storage(catalogue, chosen, of, file.sources), chosen, of.title or "")
    report = PredictionReport(
        prediction, _next_commands(configuration, chosen, study, _options(scale, settings or []), save)
    )
    if save is not None:
        write(save, encoded(as_system.text(prediction)))
        say(f"{save}")
    return print_report(report, wanted, output)


def _options(scale: str | None, settings: list[str]) -> list[str]:
    """The options of the study, which `ioassay run` takes too."""
    sets = [word for setting in settings for word in ("--set", setting)]
    return ["--scale", scale, *sets] if scale else sets


def _next_commands(
    configuration: str, chosen: str, study: str, options: list[str], save: Path | None
) -> list[tuple[str, str]]:
    """The next steps after a prediction."""
    import shlex  # noqa: PLC0415

    saved = str(save or "prediction.yaml")
    predict = ["ioassay", "size", "predict", configuration, "--configuration", chosen, "--study", study, *options]
    run = f"{shlex.join(['ioassay', 'run', study, *options])} --target DIR --out RUN"
    return [
        *([] if save else [("Save the prediction", shlex.join([*predict, "--save", saved]))]),
        ("Measure the real thing", run),
        ("Compare", f"{shlex.join(['ioassay', 'compare', saved])} RUN"),
    ]
