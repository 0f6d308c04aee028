"""Paired benchmarks against plain happybase. Run them by `make bench`.

paired.py     repetitions in shuffled order, ratios within one repetition, client CPU per row
discard.py    the server's limit: the same requests, the answers thrown away
pure.py       the process that reads without the compiled reader
place.py      the HBase that is measured, and the variants that jobs share
models.py     the models measured, and the same rows in hand-written code
jobs/         what is measured
catalog.py    all jobs by their names
targets.py    what each scenario should reach, and whether it did
results.py    what a run has measured, as values and as results.json
page.py       RESULTS.md; scale_page.py: SCALE.md; plots.py: their pictures
scale.py      what a row costs by the size of things
check.py      a new run beside the last results
options.py    the command line
machine.py    processor, versions, commit, load
"""
