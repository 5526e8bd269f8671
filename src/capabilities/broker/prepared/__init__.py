"""(6) Prepared calls: a short way to the result of the lifecycle, for calls without surprises.

`calls.py` decides, records, calls and records one call; `together.py` does so for the calls of one
read; `records.py` has the text of the records; `rest.py` returns to the lifecycle wherever a call
turns out to be another one. Nothing here is a rule of its own:
`tests/properties/test_prepared_calls.py` compares everything with `broker/batch.py`.
"""
