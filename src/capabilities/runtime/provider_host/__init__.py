"""What a runtime does for providers of calls in flight: nested executions, resources, progress.

What a provider sees of it is in `CallContext`.
"""
