"""What both sides of the channel share: errors, messages, framing, the connection, transports.

Imports nothing else of ours. The worker loads `errors`, `messages`, `framing` and `connection`;
`transport` belongs to the host.
"""
