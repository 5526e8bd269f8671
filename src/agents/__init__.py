"""Stored agents, and what they amount to. Nothing of HTTP is here."""
