"""Renews what a running program holds, so that no other program takes it over.

A thread of its own renews it: the program may be in the middle of a request, or of a wait, for
longer than a lease.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from hbase_orm.errors import HBaseORMError

RENEWALS_PER_LEASE: Final = 4
"""How often a hold is renewed in the time after which another program may take it over."""


class Renewals:
    """Renews a hold on a thread of its own."""

    def __init__(
        self, renew: Callable[[], bool], lease_s: float, subject: str, logger: logging.Logger
    ) -> None:
        """Prepare; with a `lease_s` of 0 no other program watches the hold, and no thread starts.

        Args:
            renew: A function that renews the hold, and returns whether the program still has it.
            lease_s: The time after which another program may take it over, in seconds.
            subject: What is held, for warnings.
            logger: Where warnings go.
        """
        self._renew = renew
        self._pause_s = lease_s / RENEWALS_PER_LEASE
        self._subject = subject
        self._logger = logger
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        if self._pause_s:
            self._thread = threading.Thread(target=self._renew_on, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """End the thread, and wait for its end."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _renew_on(self) -> None:
        while not self._ended.wait(self._pause_s):
            try:
                is_held = self._renew()
            except HBaseORMError as error:
                self._logger.warning("%s was not renewed: %s", self._subject, error)
            else:
                if not is_held:
                    self._logger.warning("another program took over: %s", self._subject)
                    return
