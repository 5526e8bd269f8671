"""{"stateless_todo_list": {}}"""

written = await caps.todos.write(
    todos=[
        {"content": "Run the tests", "activeForm": "Running the tests", "status": "pending"},
        {"content": "Fix the bug", "activeForm": "Fixing the bug", "status": "completed"},
    ]
)
print(written.pending, written.completed)
print(written.warnings)

# prints
# 1 1
# ['no task is in progress; mark the one that you work on as `in_progress`']
