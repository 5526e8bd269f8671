"""The code in a model's answer: what is taken out of Markdown, and what is left alone."""

from __future__ import annotations

import pytest

from caps import strip_fences


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("\n```\nprint(1)\n```\n", "print(1)\n"),
        ("~~~py\nprint(1)\n~~~\n", "print(1)\n"),
        ("````python\n'''\n```\n'''\n````\n", "'''\n```\n'''\n"),
        ("Here it is:\n```python\nx = 1\n```\nand then\n```py\nx\n```\nDone.", "x = 1\nx\n"),
        ("```bash\nls\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```python\nx = 1\n", "x = 1\n"),
        ("  ```Python3\n  x = 1\n  ```", "  x = 1\n"),
    ],
)
def test_the_blocks_of_python_are_the_code(text: str, code: str) -> None:
    """Prose and blocks of other languages are left out; a missing last fence is forgiven."""
    assert strip_fences(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "print(1)\n",
        "",
        "text = '''\n```\nx\n```\n'''\n",
        "print(1)\n```",
        "```bash\nls\n```",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    """A program may have fences inside a string, and an answer may have no block of Python."""
    assert strip_fences(text) == text
