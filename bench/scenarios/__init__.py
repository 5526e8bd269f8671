"""The rows, one module for each subject."""
