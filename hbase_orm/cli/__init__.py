"""The command line `hbase-orm`: calls the library, and prints lines or JSON.

- An error is one line with advice. The exit codes are in `hbase_orm.cli.errors`.
- Standard output has only the answer. Progress is printed to standard error.
- The commands use only the public library.

Each topic (`server`, …) is a module with one click group or command, listed in `TOPICS` of
`hbase_orm.cli.main`. A topic imports slow modules inside its functions.
"""
