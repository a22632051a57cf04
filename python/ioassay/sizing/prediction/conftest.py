from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ioassay.sizing.prediction.model import Prediction
from ioassay.testing.predicted_study import predicted

Predicts = Callable[..., Prediction]


@pytest.fixture
def predicts(tmp_path: Path) -> Predicts:
    """`predicted` in a folder of the test."""
    return partial(predicted, tmp_path)
