"""What the tests of moving rows share."""

from __future__ import annotations

import pytest

from tests.support.moved_worlds import World, small_world


@pytest.fixture
def world() -> World:
    """Return tables with a few rows, before any of them was handed over."""
    return small_world()
