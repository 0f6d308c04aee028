"""The command line `hbase-orm`: arguments in, library calls, lines or JSON out.

It promises that an error is one line that says what to do, that exit codes mean what
`hbase_orm.cli.errors` says, and that standard output holds only the answer (progress goes to
standard error). It knows nothing that the library does not offer to every program.

A topic (`server`, …) is a module of its own with one click group or command; `TOPICS` of
`hbase_orm.cli.main` names it. A topic imports what is slow inside its functions.
"""
