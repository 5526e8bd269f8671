"""Which real modules a policy may name, and with which messages others are refused."""

from __future__ import annotations

import pytest

from caps.protocol.errors import PolicyInvalidError
from caps.security.policies.load import load_policy
from caps.security.policies.modules import FACADE_MODULES, MACHINE_MODULES, MAX_MODULES, covers
from caps.security.policy import SecurityPolicy
from caps.worker.inside.facades.allowlist import FACADES
from caps.worker.inside.stdlib.replacements import REPLACEMENTS


def refusal(*modules: object) -> str:
    with pytest.raises(PolicyInvalidError) as caught:
        load_policy({"modules": list(modules)})
    assert caught.value.place.startswith("modules")
    assert "\n" not in caught.value.message
    return caught.value.message


def test_none_are_granted_unless_they_are_named() -> None:
    """Deny by default."""
    assert SecurityPolicy().modules == ()


def test_order_and_repetition_do_not_matter() -> None:
    """The set is what counts: two ways to write it are one policy, and one zygote."""
    first = load_policy({"modules": ["pandas", "numpy", "numpy"]}).policy
    second = load_policy({"modules": ["numpy", "pandas"]}).policy
    assert first.modules == second.modules == ("numpy", "pandas")
    assert first.sha256 == second.sha256


def test_the_names_of_the_facades_are_all_known() -> None:
    """The list next to the policy is that of the worker's tables."""
    tops = {name.partition(".")[0] for name in [*FACADES, *REPLACEMENTS, "asyncio"]}
    assert {name for name in tops if not name.startswith("_")} == FACADE_MODULES


@pytest.mark.parametrize("name", sorted(FACADE_MODULES - MACHINE_MODULES))
def test_a_facade_is_not_to_be_replaced(name: str) -> None:
    """Code has it anyway, and the real one would stand behind it."""
    assert f"`{name}` is there without a grant" in refusal(name)
    part = f"`{name}.part` cannot be granted: code has a facade of `{name}`"
    assert part in refusal(f"{name}.part")  # the facade may lack it


@pytest.mark.parametrize("name", ["builtins", "ctypes", "importlib", "os", "socket", "subprocess"])
def test_the_machine_is_refused_with_its_reason(name: str) -> None:
    """It would be useless, and operators must learn that."""
    message = refusal("numpy", name)
    assert f"`{name}` is nothing but the machine" in message
    assert "grant a capability" in message


def test_our_own_package_is_refused() -> None:
    """Its capabilities are granted by `allow`."""
    assert "use `allow`" in refusal("caps")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("numpy.", "is not a module"),
        ("numpy..linalg", "is not a module"),
        ("numpy.linalg.", "is not a module"),
        (".".join("abcdefghi"), "is not a module"),
        ("_ctypes", "is not a module"),
        ("__main__", "is not a module"),
        ("", "is not a module"),
        ("a-b", "is not a module"),
        ("numpy\n", "is not a module"),
        ("--module=x", "is not a module"),
        (".numpy", "is not a module"),
        ("ünicode", "is not a module"),
        ("x" * 65, "is not a module"),
        (1, "should be a string"),
    ],
)
def test_what_is_no_name_of_a_module_is_refused(name: object, what: str) -> None:
    """Only names of plain letters: they become arguments of a process."""
    assert what in refusal(name)


@pytest.mark.parametrize("name", ["numpy.linalg", "pandas.plotting._matplotlib", "a.b.c.d.e.f.g.h"])
def test_a_part_of_a_module_may_be_named(name: str) -> None:
    """It is loaded before the code starts; a package may import it too late."""
    assert load_policy({"modules": [name]}).policy.modules == (name,)


@pytest.mark.parametrize("name", ["os.path", "concurrent.futures", "urllib.request", "caps.web"])
def test_a_part_is_refused_with_its_package(name: str) -> None:
    """What holds for a module holds for what is in it."""
    assert f"`{name}`" in refusal(name) or "use `allow`" in refusal(name)


@pytest.mark.parametrize(
    ("granted", "name", "expected"),
    [
        (("numpy",), "numpy", True),
        (("numpy",), "numpy.linalg", True),
        (("numpy.linalg",), "numpy.linalg", True),
        (("numpy.linalg",), "numpy", False),
        (("numpy.linalg",), "numpy.linalg_other", False),
        (("numpy",), "numpy_financial", False),
        ((), "numpy", False),
    ],
)
def test_a_package_covers_what_is_in_it(
    granted: tuple[str, ...], name: str, expected: bool
) -> None:
    """Not the other way round, and names are compared as a whole."""
    assert covers(granted, name) is expected


def test_there_are_not_more_than_a_few() -> None:
    """Each costs the zygote its memory."""
    names = [f"m{number}" for number in range(MAX_MODULES + 1)]
    assert len(load_policy({"modules": names[1:]}).policy.modules) == MAX_MODULES
    assert f"at most {MAX_MODULES}" in refusal(*names)
