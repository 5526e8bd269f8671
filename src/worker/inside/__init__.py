"""(4) What runs inside the sandboxed process, next to untrusted code.

Imports the protocol and nothing else of ours: no policy, no provider, no secret is loaded here.
"""
