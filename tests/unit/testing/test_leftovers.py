from __future__ import annotations

import os
import subprocess
import sys

from hbase_orm.testing import leftovers


def test_a_container_of_a_running_process_is_no_leftover() -> None:
    assert not leftovers.is_gone(leftovers.owner(os.getpid()))


def test_a_container_of_an_ended_process_is_a_leftover() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        label = leftovers.owner(process.pid)

    assert leftovers.is_gone(label)


def test_a_process_id_that_was_given_out_again_does_not_protect_a_leftover() -> None:
    place, pid, _started = leftovers.owner(os.getpid()).split("|")

    assert leftovers.is_gone(f"{place}|{pid}|another time")


def test_another_machines_container_is_never_judged() -> None:
    _place, pid, _started = leftovers.owner(os.getpid()).split("|")

    assert not leftovers.is_gone(f"elsewhere|{pid}|another time")


def test_a_label_of_another_form_is_never_judged() -> None:
    assert not leftovers.is_gone("")
