"""(8) Sinks: further places for the evidence, after the file log has it.

sink.py       what one is                   addresses.py  ... as a URL
feed.py       its queue, thread, deadline   history.py    what it missed, from the file log
making.py     from addresses to feeds       streams.py, syslog.py, otlp.py, database.py   the sinks
"""
