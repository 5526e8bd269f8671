"""What a capability may be called, and what its spec may say."""

from __future__ import annotations

import pydantic
import pytest

from caps.capabilities.spec import CapabilitySpec


def test_a_name_is_all_that_a_spec_needs() -> None:
    """Schemas, tags and descriptions are empty, and nothing is claimed."""
    spec = CapabilitySpec(name="files.read")
    assert (spec.domain, spec.function) == ("files", "read")
    assert (spec.schema_in, spec.schema_out, spec.tags) == ({}, {}, frozenset())
    assert (spec.title, spec.description, spec.shown) == ("", "", ())
    assert (spec.idempotent, spec.timeout_ms) == (False, None)


@pytest.mark.parametrize(
    "name",
    [
        "files",
        "files.",
        ".read",
        "files.read.all",
        "Files.read",
        "files.Read",
        "files.read\n",
        "files.__read",
        "files.*",
        "1files.read",
        "fïles.read",
        "files.re ad",
        "",
        "a" * 65 + ".read",
        "files." + "a" * 65,
    ],
)
def test_a_name_of_another_form_is_refused(name: str) -> None:
    """A name is two short lowercase words and a dot."""
    with pytest.raises(pydantic.ValidationError):
        CapabilitySpec(name=name)


def test_the_longest_name_is_taken() -> None:
    """Each part may have 64 characters."""
    assert CapabilitySpec(name="a" * 64 + "." + "b" * 64).domain == "a" * 64


def test_a_reserved_name_is_refused() -> None:
    """`options` belongs to the wrapper."""
    with pytest.raises(pydantic.ValidationError, match=r"`files\.options` is a reserved name"):
        CapabilitySpec(name="files.options")


@pytest.mark.parametrize("name", ["files.import", "lambda.read"])
def test_a_keyword_is_refused(name: str) -> None:
    """`caps.files.import` could not be written."""
    with pytest.raises(pydantic.ValidationError, match="keyword of python"):
        CapabilitySpec(name=name)


def test_a_misspelt_field_is_refused() -> None:
    """Nothing is dropped silently."""
    with pytest.raises(pydantic.ValidationError, match="schema_int"):
        CapabilitySpec.model_validate({"name": "files.read", "schema_int": {}})


@pytest.mark.parametrize("timeout_ms", [0, -1, 3_600_001])
def test_a_timeout_out_of_range_is_refused(timeout_ms: int) -> None:
    """From a millisecond to an hour."""
    with pytest.raises(pydantic.ValidationError):
        CapabilitySpec(name="files.read", timeout_ms=timeout_ms)


def test_a_spec_is_frozen() -> None:
    """What was registered cannot be changed."""
    spec = CapabilitySpec(name="files.read")
    with pytest.raises(pydantic.ValidationError):
        spec.name = "files.write"


def test_a_spec_has_a_json_schema_of_its_own() -> None:
    """It is a model, so that documentation can be made from it."""
    properties = CapabilitySpec.model_json_schema()["properties"]
    assert {"name", "schema_in", "schema_out", "tags"} <= properties.keys()
