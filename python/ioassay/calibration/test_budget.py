"""The time limit counts from the start of the process."""

import subprocess
import sys

from ioassay.calibration.budget import Budget


def test_the_limit_counts_from_the_start_of_the_process() -> None:
    code = (
        "import time; time.sleep(0.2); from ioassay.calibration.budget import Budget\n"
        "budget = Budget.of_this_process(30); print(budget.started_s - budget.began_s)"
    )
    age_s = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0.19 <= age_s < 60


def test_a_slow_start_keeps_more_time_for_the_report() -> None:
    assert Budget(began_s=0, started_s=1, limit_s=30).measured_by_s == 28.5
    assert Budget(began_s=0, started_s=5, limit_s=30).measured_by_s == 26.5
