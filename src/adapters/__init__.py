"""Caps for the agent frameworks of others: a small module each, which needs the extra of its name.

They use the public interface of the runtime, and hold no rule of their own.
"""
