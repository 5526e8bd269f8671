"""The zygote removes the modules that a worker must not find."""

from __future__ import annotations

import sys

import pytest

from caps.worker.inside.zygote import server


def test_a_module_that_is_not_loaded_cannot_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was misspelt or renamed fails the start; a worker would find the real module."""
    loaded = {**sys.modules}
    monkeypatch.setattr(sys, "modules", loaded)
    monkeypatch.setattr(server, "_ZYGOTE_ONLY", ("signal", "caps.worker.inside.no_such_module"))
    with pytest.raises(LookupError, match=r"`caps.worker.inside.no_such_module` is not loaded"):
        server._unload_modules(has_real_modules=False)
    assert "signal" in loaded


@pytest.mark.parametrize(
    ("has_real_modules", "kept"), [(False, ["ab", "json"]), (True, ["ab", "json", "threading"])]
)
def test_what_is_forgotten_is_gone_with_its_submodules(
    monkeypatch: pytest.MonkeyPatch, has_real_modules: bool, kept: list[str]
) -> None:
    """The modules of the zygote, those that a real module may have loaded, and those that only a
    real module could use."""
    loaded = dict.fromkeys(("a", "a.b", "ab", "subprocess", "json", "threading"), sys)
    monkeypatch.setattr(sys, "modules", loaded)
    monkeypatch.setattr(server, "_ZYGOTE_ONLY", ("a",))
    server._unload_modules(has_real_modules=has_real_modules)
    assert list(loaded) == kept
