"""What runs in processes of its own for an external MCP server: its keeper and its bridge.

Started by name, never imported by the host. Knows the protocol, the messages of the bridge and the
kernel layers, and nothing of policies, providers or secrets.
"""
