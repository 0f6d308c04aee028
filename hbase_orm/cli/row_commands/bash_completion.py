"""Completion in bash, which cuts words at colons: `shop.models:Order` is three words there."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class


class WholeWords(BashComplete):
    """Click's completion for bash, where words that bash has cut at colons are whole again.

    Bash replaces only what follows the last colon, so this is all that it is given.
    """

    _before_colon = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is completed, and that word so far."""
        # Bash's own variable, a word on each line.
        words = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        whole = words[:1]
        for before, word in pairwise(words):
            if word == ":" or (before == ":" and word):
                whole[-1] += word
            else:
                whole.append(word)
        incomplete = whole[-1]
        self._before_colon = incomplete[: incomplete.rfind(":") + 1]
        return whole[1:-1], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the type and the value of a completion, for the script."""
        value: Any = item.value
        return f"{item.type},{value.removeprefix(self._before_colon)}"


def complete_whole_words() -> None:
    """Use this class for bash."""
    add_completion_class(WholeWords)
