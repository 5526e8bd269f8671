"""Files of the session as resources: listed in pages, read as text or bytes, completed."""

from __future__ import annotations

from pathlib import Path

from support.mcp_serving import pipe_server, policy_file

GRANT = {"allow": ["session_files.*"], "scopes": {"session_files": {}}}


def test_session_files_are_resources(tmp_path: Path) -> None:
    """In the order of their names, each once, whatever the page; a template names any path."""
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path, **GRANT)) as server:
        paths = [f"/d{i}/f{k}.txt" for i in range(3) for k in range(45)] + ["/a b.bin", "/z.md"]
        code = "for path in paths:\n    await caps.session_files.write(path, 'hi')"
        made = server.call("execute_code", code=code, inputs={"paths": paths[:-2]})
        assert not made["isError"], made
        server.call("session_files_write", path="/z.md", content="# hi")
        server.call("session_files_write", path="/a b.bin", content="AP8=", encoding="base64")
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = server.request("resources/list", cursor)
            assert len(page["resources"]) <= 100
            found += [each["uri"] for each in page["resources"]]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        expected = {f"caps-session://{path.replace(' ', '%20')}" for path in paths}
        assert len(found) == len(paths)
        assert set(found) == expected
        (text,) = server.request("resources/read", {"uri": "caps-session:///z.md"})["contents"]
        assert text["text"] == "# hi"
        uri = "caps-session:///a%20b.bin"
        (blob,) = server.request("resources/read", {"uri": uri})["contents"]
        assert blob["blob"] == "AP8="
        (template,) = server.request("resources/templates/list")["resourceTemplates"]
        assert template["uriTemplate"] == "caps-session://{+path}"
        reference = {"type": "ref/resource", "uri": template["uriTemplate"]}
        argument = {"name": "path", "value": "/d"}
        wanted = {"ref": reference, "argument": argument}
        completed = server.request("completion/complete", wanted)["completion"]
        assert completed["values"] == ["/d0/", "/d1/", "/d2/"]


def test_what_is_no_resource_is_refused(tmp_path: Path) -> None:
    """Another scheme, a missing file, a bad cursor; without the grant there are none."""
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path, **GRANT)) as server:
        for uri in ("file:///etc/passwd", "caps-session:///missing", "caps-session://x", "x"):
            error = server.answer(server.begin("resources/read", {"uri": uri}))["error"]
            assert error["code"] == -32602
        for cursor in ("!", "W10=", "x" * 20_000):
            error = server.answer(server.begin("resources/list", {"cursor": cursor}))["error"]
            assert error["code"] == -32602
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path)) as server:
        assert server.request("resources/list")["resources"] == []
        assert server.request("resources/templates/list")["resourceTemplates"] == []
        error = server.answer(server.begin("resources/read", {"uri": "caps-session:///x"}))["error"]
        assert "not granted" in error["message"]
