"""Whether a process named in a record still lives."""

import subprocess
import sys

import pytest

from limen.governance.runs import is_running, this_run


def test_this_process_is_running() -> None:
    assert is_running(this_run())


def test_a_process_that_ended_is_not_running() -> None:
    script = "from limen.governance.runs import this_run; import sys; sys.stdout.write(this_run())"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=20)
    assert ended.stdout
    assert not is_running(ended.stdout)


@pytest.mark.skipif("." not in this_run(), reason="this system does not tell when a process began")
def test_another_process_under_a_used_number_is_not_mistaken_for_it() -> None:
    assert not is_running(this_run() + "1")


@pytest.mark.parametrize("run", ["", "x", "-1", "99999999999999999999", "12.x.y"])
def test_what_is_no_name_of_a_process_is_not_running(run: str) -> None:
    assert not is_running(run)
