"""{"files": {"dirs": ["reports"], "deny": ["**/.env"]}}"""

await caps.files.write(path="q3.txt", content="sales\n12\n15\n")
print((await caps.files.read(path="q3.txt", first_line=2)).content.split())
found = await caps.files.grep(pattern="^1[0-9]$")
print([(match.path, match.line) for match in found.matches])
await caps.files.move(path="q3.txt", to="old/q3.txt")
print((await caps.files.glob(pattern="**/*.txt")).paths)
try:
    await caps.files.read(path="old/.env")
except PolicyDeniedError as error:
    print(error.reason)

# prints
# ['12', '15']
# [('q3.txt', 2), ('q3.txt', 3)]
# ['old/q3.txt']
# scope_violation
