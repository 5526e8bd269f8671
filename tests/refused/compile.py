# what: `compile`
# why: a code object is a power; use `eval` or `exec` with text
# raises: NameError: name 'compile' is not defined
compile("1", "x", "eval")
