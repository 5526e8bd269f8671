"""Runs agents: resolves what an agent is given, and lets an engine talk to a model with it.

An engine knows models and nothing of capabilities; the tools that it is given go to the broker.
"""
