"""The standard library as user space sees it: checked replacements and the importer.

To add a module, list its names in `facades/allowlist.py`. Add code here only if a name needs
another form than the real one.
"""
