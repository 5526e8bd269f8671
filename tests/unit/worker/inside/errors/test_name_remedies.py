"""Remedies for names are for names that fail, and what they say to write works."""

from __future__ import annotations

import pytest

from caps.worker.inside.errors.name_remedies import IDENTIFIER_REMEDIES, IMPORTS
from caps.worker.inside.facades.allowlist import FACADES
from caps.worker.inside.language.compiler import SourceError, compile_source
from caps.worker.inside.stdlib.user_modules.table import USER_MODULES
from support.language_programs import run


@pytest.mark.parametrize("name", sorted(IDENTIFIER_REMEDIES))
def test_an_identifier_with_a_remedy_is_refused(name: str) -> None:
    """Once it is not, its remedy is wrong."""
    with pytest.raises(SourceError, match=f"`{name}` reaches into the interpreter"):
        compile_source(f"x.{name}")


@pytest.mark.parametrize("name", sorted(IMPORTS))
def test_an_import_that_is_offered_works_and_is_in_no_table(name: str) -> None:
    """A table of modules that has the name gives the hint without it."""
    offered = {
        one for names in (*FACADES.values(), *USER_MODULES.values()) for one in names.split()
    }
    assert name not in offered
    run(f"{IMPORTS[name]}\n{name}")
