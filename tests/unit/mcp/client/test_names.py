"""Names of tools as functions."""

from __future__ import annotations

import pytest

from caps.mcp.client.names import check_collisions, function_name, tool_key
from caps.protocol.errors import RegistrationError


@pytest.mark.parametrize(
    ("tool", "function"),
    [
        ("browser_navigate", "browser_navigate"),
        ("get-sum", "get_sum"),
        ("readFile", "read_file"),
        ("parseHTMLPage", "parse_html_page"),
        ("repos/list", "repos_list"),
        ("2fa", "tool_2fa"),
        ("import", "import_"),
        ("options", "options_"),
        ("über", "ber"),
    ],
)
def test_a_name_is_what_code_can_write(tool: str, function: str) -> None:
    assert function_name(tool) == function


@pytest.mark.parametrize("tool", ["", "---", "日本", "x" * 65, "x" * 129])
def test_a_name_that_code_cannot_write_is_refused(tool: str) -> None:
    with pytest.raises(RegistrationError):
        function_name(tool)


def test_an_agent_lists_a_tool_by_its_own_name_if_models_accept_it() -> None:
    assert tool_key("get-sum") == "get-sum"
    assert tool_key("repos/list") == "repos_list"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(RegistrationError, match="`read_file` and `readFile` are both"):
        check_collisions(["read_file", "readFile"])
