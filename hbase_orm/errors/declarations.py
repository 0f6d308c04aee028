"""Errors of declarations, tables, options and migrations."""

from __future__ import annotations

from hbase_orm.errors.root import HBaseORMError


class SchemaError(HBaseORMError):
    """A declaration is wrong, or the tables or the catalog in HBase do not match it.

    What to do: correct the class as `fix` says, or bring the tables to what it declares:
    `hbase-orm tables check` shows how they differ.
    """


class SchemaDriftError(SchemaError):
    """A model contradicts the record of its table: it would misread or hide rows.

    What to do: declare the model as the record says, or migrate the table to what the model
    says. Nothing was read or written.

    Attributes:
        model: The name of the model.
        table: The table.
        differences: What differs, as lines: what the record says, and what the model declares.
    """


class RecordError(SchemaError):
    """A table's record is damaged or from a newer version of hbase_orm, so the table is not used.

    What to do: if the record is damaged, write a new one with `hbase-orm tables adopt`; if it is
    from a newer version, use that version.

    Attributes:
        table: The table.
        place: The place of the damage in the record; exists only if the record is damaged.
        version: The version of the record's encoding; exists only if it is a newer version.
    """


class DeclarationError(SchemaError):
    """A table's record lacks what is needed to make a model from it; `missing` can be supplied.

    What to do: supply what `missing` names, or run the program that has the model's class.
    """


class DataLossError(HBaseORMError):
    """An alteration of tables would lose data, by its `changes`; so nothing was altered.

    What to do: call `alter_tables(..., allow_data_loss=True)` if the data may go, or declare
    the options as the table has them.
    """


class ConfigurationError(HBaseORMError, ValueError):
    """A URL, an option or an argument is wrong, or a closed session is used.

    What to do: correct the URL, the option or the argument as `fix` says; open a new session if
    it was closed.
    """


class ModelImportError(ConfigurationError):
    """A module that should declare models does not exist, or its import failed.

    What to do: correct the module's name, or the code at the line `at`.

    Attributes:
        module: The name of the module.
        missing: The name of the missing module; only if a module is missing.
        at: The file and line where the import failed; only if known.
        error: The class and text of the error that the module raised; only if its code raised one.
    """


class MigrationError(HBaseORMError):
    """A revision of a schema migration cannot be loaded, ordered or run.

    What to do: do what `fix` says, and run the command again: it continues where it stopped.
    """
