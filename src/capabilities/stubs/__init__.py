"""Type stubs of a grant, as the text of a `.pyi` file."""
