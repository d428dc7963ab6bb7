"""Golden runs: what the program wrote to disk, to the wire and to stdout, held byte for byte while its inside changes.

`python -m tests.golden` renews the set, where a change means to change one of these.
"""
