"""Runs user code: from the manifest to the result. Nothing here decides what code may do."""
