"""(6) The broker: decides about a call, records it, calls the provider, records the outcome.

Nothing else calls a provider.
"""
