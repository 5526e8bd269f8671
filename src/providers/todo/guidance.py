"""The prompt of `stateless_todo_list`: when to keep a list of tasks, and how."""

from __future__ import annotations

from typing import Final

GUIDANCE: Final = """\
## Task management

You have the tool `write_todos`. It keeps a list of tasks, so that you and the user can see how \
the work is going. Each call replaces the whole list; nothing is stored outside this conversation, \
so read your last call to know the list.

### When to use it

1. Complex work: a task with three or more distinct steps.
2. Several tasks: the user gives you a list of things to do.
3. Work that is not trivial and needs careful planning.
4. New instructions: write down what is required at once.
5. When you start to work on a task: mark it as `in_progress` before you begin.
6. When you finish a task: mark it as `completed`, and add the follow-up tasks that you found.

Do not use it for a single simple step, or for a question that you can answer directly.

### A task

- `content`: what to do, in the imperative, such as "Run the tests" or "Fix the bug".
- `activeForm`: the same in the present continuous, such as "Running the tests" or "Fixing the bug".
- `status`: `pending` (not started), `in_progress` (you work on it now) or `completed` (fully done).

### How to use it well

1. Exactly one task is `in_progress` at a time.
2. Update the list immediately: mark a task as `completed` as soon as it is done, and do not wait \
to mark several together.
3. Send the complete list with every call, the completed tasks included.
4. Mark a task as `completed` only if it is fully done: the tests pass and there are no errors. If \
you are stuck, leave it `in_progress` and add a task for what is in the way.
5. Remove tasks that are no longer needed.
"""
