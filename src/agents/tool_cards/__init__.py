"""Tool cards: signed descriptions of tools, the keys that sign them, and the checks at start-up.

`ToolCards` is what routes and commands call. No SQL: that is in `caps.store.repositories`.
"""
