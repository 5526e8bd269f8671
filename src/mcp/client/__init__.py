"""MCP in: external servers by configuration, their pinned tools as functions, and their processes.

Runs on the host and never imports the MCP SDK: `caps.mcp.child.bridge` does, in another process.
"""
