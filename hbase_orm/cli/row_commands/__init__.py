"""The commands on rows: get, scan, count, put, delete, and `shell`; the formats of their output.

A command reads its arguments and checks them, so that nothing is sent for a mistake. Then it calls
the methods of a session, and a writer prints each row as it arrives, in constant memory.
"""
