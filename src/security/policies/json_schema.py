"""The JSON Schema of policies, for editors.

Run as `python -m caps.security.policies.json_schema [--check]`.

The model in `policy` is the grammar; the schema file is derived from it and checked in, so that a
policy's `"$schema": "./policy.schema.json"` gives completion and early warnings. With `--check`
nothing is written and the exit status is 1 when the file differs from the model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from caps.security.policy import SecurityPolicy

DEFAULT_PATH: Final = Path("policies/policy.schema.json")


class _Untitled(GenerateJsonSchema):
    """Without titles, which would only repeat the names of the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - of the base class
        return False


def policy_schema() -> str:
    """The schema as the text of its file."""
    body = SecurityPolicy.model_json_schema(schema_generator=_Untitled)
    body["properties"] = {
        "$schema": {"type": "string", "description": "Where editors find this schema; ignored."},
        **body["properties"],
    }
    schema = {"$schema": GenerateJsonSchema.schema_dialect, **body, "title": "Caps policy"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the schema, or with `--check` compare it; the exit status of the process."""
    paths = [Path(argument) for argument in arguments if argument != "--check"]
    path = paths[0] if paths else DEFAULT_PATH
    if "--check" not in arguments:
        path.write_text(policy_schema(), encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == policy_schema():
        return 0
    sys.stderr.write(
        f"`{path}` is not what the model says, "
        f"run `python -m caps.security.policies.json_schema {path}`\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
