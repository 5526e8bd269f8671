"""The id of a service: one process has it at a time, and the next one finds it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.protocol.errors import ConfigurationError
from caps.service.instance import INSTANCE_FILE, held_instance


def test_the_id_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """Each directory has its own, which does not depend on its name."""
    with held_instance(tmp_path / "one") as first, held_instance(tmp_path / "other") as other:
        assert first != other
    (tmp_path / "one").rename(tmp_path / "moved")
    with held_instance(tmp_path / "moved") as again:
        assert again == first


def test_nobody_else_gets_it_meanwhile(tmp_path: Path) -> None:
    """Also not by another name of the directory."""
    (tmp_path / "link").symlink_to(tmp_path / "audit")
    with held_instance(tmp_path / "audit") as held:
        with (
            pytest.raises(ConfigurationError, match="another service runs"),
            held_instance(tmp_path / "link"),
        ):
            pass
        assert (tmp_path / "audit" / INSTANCE_FILE).read_text() == held


@pytest.mark.parametrize("content", ["", "0123", "x" * 32, "0" * 40])
def test_a_file_without_an_id_gets_one(tmp_path: Path, content: str) -> None:
    """For example one whose writing was interrupted."""
    (tmp_path / INSTANCE_FILE).write_text(content)
    with held_instance(tmp_path) as made:
        assert (tmp_path / INSTANCE_FILE).read_text() == made != content


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    """With its name, and the reason."""
    (tmp_path / INSTANCE_FILE).mkdir()
    with (
        pytest.raises(ConfigurationError, match=r"\.service` cannot be used: is a directory"),
        held_instance(tmp_path),
    ):
        pass
