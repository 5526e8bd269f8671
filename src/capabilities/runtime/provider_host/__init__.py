"""What a runtime does for providers of calls in flight: nested executions, resources.

What a provider sees of it is in `CallContext`.
"""
