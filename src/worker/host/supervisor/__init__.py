"""One running execution as the host sees it: its requests, its limits and its end.

Starts no worker.
"""
