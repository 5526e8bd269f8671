# str.format
result = "{0}-{1[k]}-{name:>4}-{2[0]!r}-{:}".replace("{:}", "").format(
    1, {"k": 2}, ["x"], name="n"
)
assert result == "1-2-   n-'x'-"
