"""What both sides of the channel share: errors, messages, framing, the connection, values, text.

Imports no other package of ours. `argument_checks`, `asyncio_reader`, `environment`, `transport`
and `version` are for the host only; no worker loads them.
"""
