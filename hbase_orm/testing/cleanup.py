"""Drop what a test has made, by its name's first characters."""

from __future__ import annotations
