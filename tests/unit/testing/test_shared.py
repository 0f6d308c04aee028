from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from hbase_orm.errors import ServerError
from hbase_orm.testing.shared import Running, Share
from hbase_orm.testing.sources import Choice

if TYPE_CHECKING:
    from pathlib import Path

SERVER = Running("hbase://127.0.0.1:1", "docker", "c0ffee")


def never_called() -> Running:
    raise AssertionError("it runs already")


def test_nothing_runs_before_it_is_needed(tmp_path: Path) -> None:
    assert Share(tmp_path).get() is None


def test_another_process_finds_what_the_first_has_started(tmp_path: Path) -> None:
    Share(tmp_path).get_or_start(lambda: SERVER)

    assert Share(tmp_path).get_or_start(never_called) == SERVER


def test_the_others_wait_for_the_one_that_starts(tmp_path: Path) -> None:
    starting, may_finish = threading.Event(), threading.Event()
    found: list[Running] = []

    def start_slowly() -> Running:
        starting.set()
        assert may_finish.wait(10)
        return SERVER

    first = threading.Thread(target=lambda: Share(tmp_path).get_or_start(start_slowly))
    first.start()
    assert starting.wait(10)
    second = threading.Thread(
        target=lambda: found.append(Share(tmp_path).get_or_start(never_called))
    )
    second.start()
    may_finish.set()
    first.join(10)
    second.join(10)

    assert found == [SERVER]


def test_a_failed_start_is_not_tried_again_by_the_others(tmp_path: Path) -> None:
    def fail() -> Running:
        raise ServerError("no room")

    with pytest.raises(ServerError, match="no room"):
        Share(tmp_path).get_or_start(fail)

    with pytest.raises(ServerError, match=r"did not start.*no room"):
        Share(tmp_path).get_or_start(never_called)


def test_the_choice_is_made_once_and_read_back_whole(tmp_path: Path) -> None:
    choice = Choice("embedded", (("url", "not set"), ("docker", "no engine")), must_have=True)

    Share(tmp_path).choice_or(lambda: choice)

    assert Share(tmp_path).choice_or(lambda: Choice(None, ())) == choice


def test_no_choice_is_made_before_it_is_needed(tmp_path: Path) -> None:
    assert Share(tmp_path).choice() is None


def test_the_others_wait_for_the_one_that_chooses(tmp_path: Path) -> None:
    choosing, may_finish = threading.Event(), threading.Event()
    choice = Choice("docker", ())
    found: list[Choice] = []

    def choose_slowly() -> Choice:
        choosing.set()
        assert may_finish.wait(10)
        return choice

    first = threading.Thread(target=lambda: Share(tmp_path).choice_or(choose_slowly))
    first.start()
    assert choosing.wait(10)
    second = threading.Thread(
        target=lambda: found.append(Share(tmp_path).choice_or(lambda: Choice(None, ())))
    )
    second.start()
    may_finish.set()
    first.join(10)
    second.join(10)

    assert found == [choice]


def test_the_owner_is_the_process_that_is_named_or_else_this_one(tmp_path: Path) -> None:
    assert Share(tmp_path, 17).owner_pid == 17
    assert Share(tmp_path).owner_pid == os.getpid()
