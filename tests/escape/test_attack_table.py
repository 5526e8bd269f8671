"""What SECURITY.md says about the attacks is what there is."""

from __future__ import annotations

from pathlib import Path

from escape.attack_table import BEGIN, CLASSES, DOCUMENT, END, stale, table, write
from escape.attacks import LAYERS, attacks_on


def test_the_table_of_attacks_is_up_to_date() -> None:
    """Every class is there, with the number of its attacks; `make attacks` writes it again."""
    assert not stale(DOCUMENT.read_text()), "run `make attacks`"


def test_every_class_of_attacks_is_described_and_has_some() -> None:
    """A description without attacks would be a promise that nothing keeps."""
    for layer in LAYERS:
        assert {attack.kind for attack in attacks_on(layer)} == CLASSES[layer].keys()


def test_a_stale_table_is_seen_and_mended(tmp_path: Path) -> None:
    """Only the text between the marks is written."""
    document = tmp_path / "SECURITY.md"
    document.write_text(f"before\n{BEGIN}| old |\n{END}after\n")
    assert stale(document.read_text())
    write(document)
    assert document.read_text() == f"before\n{BEGIN}{table()}{END}after\n"


def test_no_attack_is_named_like_a_test() -> None:
    """They are data; only the tests next to them may run them."""
    paths = [attack.path for layer in LAYERS for attack in attacks_on(layer)]
    assert [path for path in paths if path.name.startswith("test_")] == []
