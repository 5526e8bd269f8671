"""Approvals: the model, and the directory in which requests wait for an answer.

The broker asks for approvals; nothing here decides.
"""
