"""MCP: external servers as functions (`client`, in), and Caps as a server (`server`, out).

`child` is what runs in processes of its own, next to an external server. Imports capabilities and
what is below them, never providers.
"""
