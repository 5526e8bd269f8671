# quotes, comments and f-strings inside f-strings (from Python 3.12 on)
names = ["a", "b"]
assert f"{", ".join(names)}" == "a, b"
assert f"{f"{f"{1 + 1}"}"}" == "2"
assert f"{
    names[0]  # the first one
}" == "a"
assert f"{"\n".join(names)}" == "a\nb"
