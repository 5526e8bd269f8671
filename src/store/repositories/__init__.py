"""One module a table: the table, the values of its rows, and the repository with all its SQL.

A new table is one module here and one migration in `caps.store.migrations`.
"""
