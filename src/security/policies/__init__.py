"""Parts of a policy: names, modules, deny rules, protected paths, and reading it from a file.

The model is `policy.py`, the rules `decision.py`.
"""
