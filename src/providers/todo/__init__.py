"""(7) The capability `stateless_todo_list`: a list of tasks, checked, counted and returned.

Nothing is stored. Each call has the complete list, and the conversation keeps it.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.registry import CapabilityRegistry
from caps.providers.todo.guidance import GUIDANCE

MAX_TODOS: Final = 200

Status = Literal["pending", "in_progress", "completed"]
Text = Annotated[str, Field(min_length=1, max_length=500)]

NONE_IN_PROGRESS: Final = "no task is in progress; mark the one that you work on as `in_progress`"
SEVERAL_IN_PROGRESS: Final = "{count} tasks are in progress; only one should be `in_progress`"


class Todo(TypedDict):
    """One task."""

    content: Annotated[Text, Field(description="what to do, in the imperative: `Run the tests`")]
    activeForm: Annotated[Text, Field(description="the same while it is done: `Running the tests`")]
    status: Status


class Written(TypedDict):
    """The list as it was accepted, with the number of tasks of each status."""

    success: bool
    total_tasks: int
    pending: int
    in_progress: int
    completed: int
    todos: list[Todo]
    warnings: list[str]


async def write_todos(
    todos: Annotated[
        list[Todo], Field(max_length=MAX_TODOS, description="the complete list of tasks")
    ],
) -> Written:
    """Create or update the list of tasks. The given list replaces the whole list."""
    counts = Counter(todo["status"] for todo in todos)
    warnings = []
    if counts["pending"] and not counts["in_progress"]:
        warnings.append(NONE_IN_PROGRESS)
    if counts["in_progress"] > 1:
        warnings.append(SEVERAL_IN_PROGRESS.format(count=counts["in_progress"]))
    return {
        "success": True,
        "total_tasks": len(todos),
        "pending": counts["pending"],
        "in_progress": counts["in_progress"],
        "completed": counts["completed"],
        "todos": todos,
        "warnings": warnings,
    }


class StatelessTodoList(Capability):
    """The function as a tool, with the guidance as the prompt."""

    key = "stateless_todo_list"
    name = "Task Management"
    description = (
        "Enables agents to create and manage structured task lists for tracking multi-step work "
        "progress. State is maintained in conversation history."
    )
    icon = "list-checks"
    category = "Productivity"
    system_prompt = GUIDANCE
    tools = (
        ToolDescriptor(
            "write_todos", "Write Todos", "Create or update a task list.", "todos.write"
        ),
    )


def register_todo(registry: CapabilityRegistry) -> None:
    """Declare the domain `todos`, its function and the capability `stateless_todo_list`."""
    registry.domain("todos", scope=None, title="Todos", description="A list of tasks.")
    registry.capability(
        "todos.write", title="Write the list of tasks", tags={"pure"}, idempotent=True
    )(write_todos)
    registry.register(StatelessTodoList)
