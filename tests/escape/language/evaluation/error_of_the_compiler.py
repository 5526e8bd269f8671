"""Reach the compiler behind the error that it raises for text which is no Python."""

# stopped: harmless

for text in ("1 +", "if x:\ny", "(" * 300, "nonlocal x"):
    try:
        exec(text)
        escaped()
    except SyntaxError as error:
        if error.__cause__ is not None:
            escaped()
        error.filename, error.text, error.msg = "/etc/passwd", "x", "y"
        if "root" in str(error):
            escaped()
        context = error.__context__
        for name in ("python_error", "details"):
            found = getattr(context, name, None)
            if found is not None and hasattr(found, "tb_frame"):
                escaped()
