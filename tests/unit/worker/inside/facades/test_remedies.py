"""Remedies name what exists: modules that a policy may grant, and names that facades lack."""

from __future__ import annotations

import pytest

from caps.security.policies.modules import checked_module
from caps.worker.inside.facades.remedies import GRANTABLE, NAME_REMEDIES, module_remedy
from support.language_programs import run


@pytest.mark.parametrize("module", sorted(GRANTABLE))
def test_a_policy_may_grant_what_a_remedy_offers(module: str) -> None:
    """A hint that the policy's own check refuses would mislead."""
    assert checked_module(module) == module
    assert module_remedy(module).endswith(f'; a policy can grant it: "modules": ["{module}"]')


@pytest.mark.parametrize("name", sorted(NAME_REMEDIES))
def test_a_remedy_is_for_a_name_that_is_not_there(name: str) -> None:
    """Once a facade has the name, its remedy is wrong."""
    module, _, attribute = name.rpartition(".")
    with pytest.raises(ImportError, match="cannot import name"):
        run(f"from {module} import {attribute}")


def test_a_part_of_a_module_has_the_remedy_of_the_module() -> None:
    """`xml.dom.minidom` is a part of `xml.dom`."""
    assert module_remedy("xml.dom.minidom").startswith("; use `xml.etree.ElementTree`")
    assert module_remedy("xml") == ""
