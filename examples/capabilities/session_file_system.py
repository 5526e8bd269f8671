"""{"session_file_system": {}}"""

written = await caps.session_files.write(path="/notes/plan.md", content="one\ntwo\n")
print(written.created, written.size_bytes)
found = await caps.session_files.grep(pattern="t.o", path_pattern="*.md")
print([(match.path, match.line, match.text) for match in found.matches])
await caps.session_files.write(path="/notes/plan.md", content="three\n", if_version=written.version)
try:
    await caps.session_files.write(path="/notes/plan.md", content="four\n", if_version=1)
except ProviderError as error:
    print(error.refusal)
print([entry.name for entry in (await caps.session_files.list()).entries])

# prints
# True 8
# [('/notes/plan.md', 2, 'two')]
# conflict
# ['notes']
