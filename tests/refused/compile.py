# what: `compile`
# why: a code object bypasses the checks of the compiler; use `eval` or `exec` with text
# raises: NameError: name 'compile' is not defined
compile("1", "x", "eval")
