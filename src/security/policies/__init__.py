"""Parts of a policy: names, fields, modules, deny and flow rules, protected paths, and loading it.

The model is `policy.py`, the rules `decision.py`.
"""
