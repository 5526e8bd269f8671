"""Commands against a service: `caps --server URL run|call|agents|audit`.

`server` says whether a command is remote; one module for each command has what it does there. They
print as the local commands do, with the same functions.
"""
