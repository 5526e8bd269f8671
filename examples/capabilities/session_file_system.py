"""{"session_file_system": {}}"""

written = await caps.session_files.write(path="/notes/plan.txt", content="one\ntwo\n")
print(written.created, written.size_bytes)
found = await caps.session_files.grep(pattern="^t", path_pattern="*.txt")
print(found.match_count, found.matches[0])

# prints
# True 8
# 1 Record(path='/notes/plan.txt', line_number=2, line='two')
