"""The `caps` command. Thin: every command calls the library and prints."""
