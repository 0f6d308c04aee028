"""Errors of requests to HBase; the class says whether the request may be sent again."""

from __future__ import annotations

from hbase_orm.errors.root import HBaseORMError


class GatewayError(HBaseORMError):
    """A request to HBase failed.

    What to do: see the subclass: it says whether the request may be sent again.
    """


class RetryableError(GatewayError):
    """The request was not applied; the same request may be sent again.

    What to do: send it again; the library has already done so `retries` times.
    """


class RegionUnavailableError(RetryableError):
    """The region is moving, splitting or not assigned.

    What to do: wait and send it again; if it lasts, look at the cluster: a RegionServer is
    down, or a region is in transition.
    """


class ServerBusyError(RetryableError):
    """The server or the connection pool has no room for the request now.

    What to do: send it again later; raise `pool` in the URL if this program lacks connections,
    or run fewer requests side by side.
    """


class ConnectionLostError(GatewayError):
    """The connection broke or timed out: for a write, the outcome is unknown.

    What to do: reads were repeated already, so look at the gateway. After a write, read the row
    and decide; flushing a session again is safe.
    """


class ScannerExpiredError(GatewayError):
    """The scanner is closed or expired; open a new scanner after the last key that was read.

    What to do: nothing, in a statement: reads continue by themselves. Code that scans by a
    gateway of its own opens a new scanner.
    """


class RejectedError(GatewayError):
    """HBase refuses the request; sending the same request again will not help.

    What to do: correct the request as `fix` says.
    """


class AccessDeniedError(RejectedError):
    """The user of the Thrift gateway lacks the permission for the request.

    What to do: grant the permission to the user of the Thrift gateway.
    """


class TableNotFoundError(RejectedError):
    """The table does not exist.

    What to do: create it with `engine.create_tables(M)`, or correct the name or the namespace
    in the URL.
    """


class TableExistsError(RejectedError):
    """The table exists already.

    What to do: use the table as it is, or drop it first.
    """


class TableDisabledError(RejectedError):
    """The table is disabled.

    What to do: enable it in the HBase shell, or wait for the program that disabled it.
    """


class FamilyNotFoundError(RejectedError):
    """The table has no such column family.

    What to do: add the family with `engine.alter_tables(M)`, or correct its name.
    """


class CompressionMissingError(RejectedError):
    """The server does not have the compression codec that a column family uses.

    What to do: install the codec on the RegionServers, or declare another `compression`.
    """


class NamespaceNotFoundError(RejectedError):
    """The namespace does not exist.

    What to do: `engine.create_tables` creates it; else correct the name.
    """


class NamespaceExistsError(RejectedError):
    """The namespace exists already.

    What to do: use it as it is.
    """


class FeatureMissingError(RejectedError):
    """The gateway does not support the request; `fix` advises what to use instead.

    What to do: do what `fix` says; most often, name a Thrift2 gateway with `thrift2=` in the
    URL.
    """
