"""The errors of migrations; all are `MigrationError`s, and name the revision and step if any."""

from __future__ import annotations

from hbase_orm.errors import ConfigurationError, ConflictError, MigrationError


class RevisionFileError(MigrationError, ConfigurationError):
    """A file of the migrations' folder is missing or wrong.

    What to do: correct the `file`, at the line `at` if it is known; or restore it.

    Attributes:
        file: The file.
        at: The line of the file where it failed; only if known.
        error: The class and text of the error that the file's code raised; only if it raised one.
    """


class RevisionGraphError(MigrationError, ConfigurationError):
    """Revisions do not form a graph without gaps and cycles, or a name means none or several.

    What to do: do what `fix` says: correct a `down_revision`, remove one of two files of a
    revision, or name a revision that there is.
    """


class SeveralHeadsError(RevisionGraphError):
    """The revisions have several heads, so that "head" means none of them.

    What to do: join them by `hbase-orm merge heads`, or name the revision that is meant.

    Attributes:
        heads: The heads.
    """


class EditedRevisionError(MigrationError):
    """The file of an applied revision was edited, or its completed steps were.

    What to do: restore the file, and make the change in a new revision.
    """


class InterruptedRevisionError(MigrationError):
    """A revision is half done, and the command would leave it so.

    What to do: finish the revision by `hbase-orm upgrade`, or undo it by `hbase-orm downgrade
    -1`.
    """


class IrreversibleStepError(MigrationError):
    """A step cannot be undone, so nothing was undone.

    What to do: downgrade to a later revision; what the step did stays.

    Attributes:
        reason: The reason.
    """


class StepFailedError(MigrationError):
    """A step failed; its position is kept, and the next run continues there.

    What to do: correct what `error` says, and run the command again.

    Attributes:
        operation: What the step does.
        error: The class and text of the error.
    """


class MigrationStoppedError(MigrationError):
    """An operation stopped before the phase of `stop_before`; the next run continues there.

    What to do: nothing is wrong: run the command without `--stop-before` to go on.

    Attributes:
        phase: The phase.
    """


class LockHeldError(MigrationError, ConflictError):
    """Another runner is at work.

    What to do: wait for the `holder`; if its process is gone, its lock ends by itself.

    Attributes:
        holder: The runner.
        since: When it began, in ISO 8601.
    """


class LockLostError(MigrationError, ConflictError):
    """Another runner has taken over, because this one did not renew its lock for a lease.

    What to do: look at `hbase-orm current`, and run the command again if work is left.
    """


class HistoryError(MigrationError):
    """The history in HBase is damaged, or of another release.

    What to do: use the newest release, or restore the row of the history from a backup.
    """
