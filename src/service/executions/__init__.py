"""Executions of the service: how they run, how they are followed, and what a crash leaves."""
