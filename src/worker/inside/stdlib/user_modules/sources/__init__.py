"""Further sources of modules that run in user space: formats of data, file objects, references."""
