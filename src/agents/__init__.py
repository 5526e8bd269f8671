"""What agents are and amount to, and what describes and vouches for their tools.

Nothing of HTTP, and nothing that decides about a call.
"""
