"""Errors of the server on this machine: Java, Maven, ports and the disk."""

from __future__ import annotations

from hbase_orm.errors.root import HBaseORMError


class ServerError(HBaseORMError):
    """An operation of the embedded server failed.

    What to do: do what `fix` says; `hbase-orm server logs` shows what the server printed.
    """


class ServerNotRunningError(ServerError):
    """No embedded server runs with this data directory.

    What to do: `hbase-orm server start`.
    """


class PortInUseError(ServerError):
    """Another process uses the port.

    What to do: choose another port with `--port` and `--thrift2-port`, or 0 for free ones.
    """


class JavaNotFoundError(ServerError):
    """No Java was found.

    What to do: install a JDK of version 17 to 21, or set `JAVA_HOME`.
    """


class JavaUnsuitableError(ServerError):
    """No Java on this machine has a suitable version.

    What to do: install a JDK of version 17 to 21, or set `JAVA_HOME` to one.
    """


class MavenNotFoundError(ServerError):
    """Maven is missing, or could not resolve the jars.

    What to do: install Maven, and let it reach its repository once.
    """


class DiskFullError(ServerError):
    """The disk has no room for the server's data or jars.

    What to do: free some space, or choose another data directory.
    """


class ServerDiedError(ServerError):
    """The server's process ended, during its start or later.

    What to do: look at the log that the error names, and start the server again.
    """
