"""The errors of migrations; all are `MigrationError`s, and name the revision and step if any."""

from __future__ import annotations

from hbase_orm.errors import ConfigurationError, ConflictError, MigrationError


class RevisionFileError(MigrationError, ConfigurationError):
    """A file of the migrations' folder is missing or wrong.

    Attributes:
        file: The file.
        at: The line of the file where it failed; only if known.
        error: The class and text of the error that the file's code raised; only if it raised one.
    """


class RevisionGraphError(MigrationError, ConfigurationError):
    """Revisions do not form a graph without gaps and cycles, or a name means none or several."""


class SeveralHeadsError(RevisionGraphError):
    """The revisions have several heads, so that "head" means none of them.

    Attributes:
        heads: The heads.
    """


class EditedRevisionError(MigrationError):
    """The file of an applied revision was edited, or its completed steps were."""


class InterruptedRevisionError(MigrationError):
    """A revision is half done, and the command would leave it so."""


class IrreversibleStepError(MigrationError):
    """A step cannot be undone, so nothing was undone.

    Attributes:
        reason: The reason.
    """


class StepFailedError(MigrationError):
    """A step failed; its position is kept, and the next run continues there.

    Attributes:
        operation: What the step does.
        error: The class and text of the error.
    """


class MigrationStoppedError(MigrationError):
    """An operation stopped before the phase of `stop_before`; the next run continues there.

    Attributes:
        phase: The phase.
    """


class LockHeldError(MigrationError, ConflictError):
    """Another runner is at work.

    Attributes:
        holder: The runner.
        since: When it began, in ISO 8601.
    """


class LockLostError(MigrationError, ConflictError):
    """Another runner has taken over, because this one did not renew its lock for a lease."""


class HistoryError(MigrationError):
    """The history in HBase is damaged, or of another release."""
