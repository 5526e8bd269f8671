"""What a runtime does for providers of calls in flight: nested executions, shared resources.

What a provider sees of it is in `CallContext`.
"""
