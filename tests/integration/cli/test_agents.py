"""`caps agents`, as a user uses it, with a script in place of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.commands import run_caps

POLICY = {
    "id": "reader",
    "allow": ["files.read", "time.*", "notify.*"],
    "scopes": {"files": {"allowlist": ["."]}},
}
AGENT = {
    "name": "reader",
    "system_prompt": "Be brief.",
    "capabilities": {"files": {"dirs": ["."], "tools": ["read_file"]}},
}


class Place:
    """A directory with a state, a policy and scripts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.policy = self.write("policy.json", {**POLICY, "scopes": self._scopes()})

    def _scopes(self) -> dict[str, Any]:
        return {"files": {"allowlist": [str(self.path)]}}

    def write(self, name: str, content: object) -> str:
        file = self.path / name
        file.write_text(json.dumps(content))
        return str(file)

    def agents(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        done = run_caps(self.path / "state", "agents", *arguments, stdin=stdin)
        return done.returncode, done.stdout, done.stderr

    def create(self, **fields: Any) -> str:
        capabilities = {"files": {"dirs": [str(self.path)], "tools": ["read_file"]}}
        document = {**AGENT, "capabilities": capabilities, **fields}
        code, out, err = self.agents("create", "--file", "-", "--json", stdin=json.dumps(document))
        assert code == 0, err
        found: str = json.loads(out)["id"]
        return found

    def run(self, turns: object, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        script = self.write("script.json", turns)
        options = ("--script", script, "--policy", self.policy)
        return self.agents(*arguments, *options, stdin=stdin)


def test_create_list_show_delete(tmp_path: Path) -> None:
    """An agent is kept as it was given, and found by its id and by its name."""
    place = Place(tmp_path)
    assert place.agents("list")[1] == "there are no agents\n"
    agent_id = place.create()
    code, out, err = place.agents("create", "--name", "clock", "--capabilities", '["current_time"]')
    assert (code, out.startswith("the agent `clock` is kept as")) == (0, True), err
    listed = json.loads(place.agents("list", "--json")[1])
    assert [each["name"] for each in listed] == ["reader", "clock"]
    shown = json.loads(place.agents("show", agent_id)[1])
    assert shown["system_prompt"] == "Be brief."
    assert shown["tools"] == [{"key": "read_file", "function": "files.read"}]
    assert json.loads(place.agents("show", "clock")[1])["capabilities"] == ["current_time"]
    assert place.agents("delete", "reader")[:2] == (0, "the agent `reader` is deleted\n")
    assert place.agents("show", agent_id)[0] == 2


def test_what_cannot_be_created(tmp_path: Path) -> None:
    """Each error is one line that says what to do."""
    place = Place(tmp_path)
    for arguments, expected in (
        (("--name", "a", "--capabilities", '{"flies": {}}'), "did you mean `files`?"),
        (("--name", "a", "--capabilities", "{"), "the capabilities are not valid JSON"),
        (("--name", ""), "the agent cannot be read"),
        ((), "give `--file`, or `--name`"),
    ):
        code, out, err = place.agents("create", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert expected in err
    policy = {"name": "a", "policy": {"allow": ["files.raed"]}}
    code, _, err = place.agents("create", "--file", "-", stdin=json.dumps(policy))
    assert (code, "did you mean `files.read`" in err) == (4, True)


def test_run_prints_the_answer_and_keeps_the_thread(tmp_path: Path) -> None:
    """By call and in code; a second run continues the thread."""
    place = Place(tmp_path)
    place.create()
    (tmp_path / "a.txt").write_text("hello")
    path = str(tmp_path / "a.txt")
    call = {"calls": [{"name": "read_file", "arguments": {"path": path}}]}
    code, out, err = place.run([call, {"answer": "{last}"}], "run", "reader", "read it", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert json.loads(result["answer"])["content"] == "hello"
    assert (result["status"], result["tool_calls"]) == ("answered", 1)

    turns = [{"code": f"(await caps.files.read({path!r})).content"}, {"answer": "{last}"}]
    thread = ("--thread", result["thread_id"])
    code, out, err = place.run(turns, "run", "reader", "-", "--code", *thread, stdin="again")
    assert (code, out) == (0, "result:\n'hello'\n"), err
    assert f"--thread {result['thread_id']}" in err


def test_run_says_why_there_is_no_answer(tmp_path: Path) -> None:
    """Limits and failures have exit codes of their own; a withheld tool is named."""
    place = Place(tmp_path)
    place.create()
    call = {"calls": [{"name": "read_file", "arguments": {}}]}
    code, _, err = place.run([call, call, call], "run", "reader", "go", "--max-turns", "2")
    assert (code, "turn_limit" in err) == (5, True)
    code, _, err = place.run([call], "run", "reader", "go")
    assert (code, "the script has no more turns" in err, "Traceback" in err) == (6, True, False)
    code, _, err = place.run([], "run", "nobody", "go")
    assert (code, err) == (2, "caps: there is no agent `nobody`\n")
    code, _, err = place.agents("run", "reader", "go")
    assert (code, "give `--model`, or `--script`" in err) == (2, True)
    code, _, err = place.run([{"say": 1}], "run", "reader", "go")
    assert (code, "the script cannot be read" in err) == (2, True)
    place.create(name="writer", capabilities=["stateless_todo_list"])
    code, _, err = place.run([{"answer": "x"}], "run", "writer", "go")
    assert (code, "does not allow the tools" in err) == (0, True)


def test_a_silent_run_notifies(tmp_path: Path) -> None:
    """What the agent says to its user is on standard error."""
    place = Place(tmp_path)
    place.create()
    call = {"calls": [{"name": "notify_user", "arguments": {"message": "disk is full"}}]}
    code, out, err = place.run([call, {"answer": "ok"}], "run", "reader", "go", "--silent")
    assert (code, out) == (0, "ok\n")
    assert "the agent says: disk is full" in err


def test_chat_is_one_thread(tmp_path: Path) -> None:
    """Each line is a message; answers come in order, without escapes for the terminal."""
    place = Place(tmp_path)
    place.create()
    turns = [{"answer": "one"}, {"answer": "two\x1b[31m"}]
    code, out, err = place.run(turns, "chat", "reader", stdin="a\n\nb\n")
    assert (code, out.splitlines()[0]) == (0, "one"), err
    assert "\x1b" not in out
    thread = err.split("--thread ")[1].split("`")[0]
    _, out, _ = place.run([{"answer": "three"}], "run", "reader", "c", "--thread", thread, "--json")
    assert json.loads(out)["thread_id"] == thread


def test_a_model_that_does_not_exist(tmp_path: Path) -> None:
    """The error is one line, without a traceback."""
    place = Place(tmp_path)
    place.create()
    code, out, err = place.agents("run", "reader", "go", "--model", "no-such:model")
    assert (code, out, "Traceback" in err) == (2, "", False)
    assert "the model cannot be used" in err
