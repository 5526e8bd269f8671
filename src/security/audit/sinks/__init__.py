"""(8) Sinks: further places that get each record after the file log has it.

Each kind of sink is one module; its URL is a kind in `urls.py` and a case in `make_sink.py`.
`feed.py` gives every sink its queue, thread and deadline, and `backfill.py` reads from the file log
what a sink missed. Nothing here writes the file log.
"""
