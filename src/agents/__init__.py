"""What agents are, and what describes and vouches for their tools.

Nothing of HTTP, and nothing that decides about a call.
"""
