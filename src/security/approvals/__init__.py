"""Approvals: the model, and the directory in which requests wait for the answer of a person.

The broker asks for approvals; nothing here decides.
"""
