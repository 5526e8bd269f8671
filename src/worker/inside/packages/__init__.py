"""Well-known packages: what each one needs while the zygote still has files and imports.

One module a package, listed in `table.py`. Runs in zygotes that load real modules, and only there.
"""
