"""Models of two releases for the command line, by the names of their modules' attributes."""

from __future__ import annotations

from tests.support.altered_shop import first_release, later_release

First = first_release()
Later = later_release()
First.__qualname__, Later.__qualname__ = "First", "Later"
