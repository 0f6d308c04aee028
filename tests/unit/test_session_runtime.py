"""What sessions of one engine share, over a fork."""

from __future__ import annotations

import os
import signal

import pytest

from hbase_orm.gateway.memory import MemoryGateway
from hbase_orm.session.runtime import Runtime


# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_does_not_inherit_a_held_lock() -> None:
    runtime = Runtime(MemoryGateway(), parallel=1)

    with runtime._lock:
        pid = os.fork()
        if pid == 0:
            # Nothing of pytest may run in the child, whatever happens; a held lock ends it.
            try:
                signal.alarm(5)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                runtime.note_deletes([("t", b"r")])
                os._exit(0)
            finally:
                os._exit(2)
        status = os.waitpid(pid, 0)[1]

    assert os.waitstatus_to_exitcode(status) == 0
