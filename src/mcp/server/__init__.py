"""MCP out: Caps as a server. Callers, the tools that each is given, answers, and two transports.

Every call goes through `Runtime.call` or `Runtime.stream`; nothing here decides. Who a caller is,
and over HTTP how it signs in, is said by the command line and the service.
"""
