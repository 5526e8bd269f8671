"""(5) Waiting awake: bounded each time, and given up where it does not pay."""

from __future__ import annotations

import time

import pytest

from caps.protocol.vigil import Vigil


def look_out_in_vain(vigil: Vigil) -> None:
    while vigil.goes_on():
        pass


def test_a_look_out_ends() -> None:
    """Not before its time."""
    vigil = Vigil(0.001)
    began = time.perf_counter()
    assert vigil.begins()
    look_out_in_vain(vigil)
    assert time.perf_counter() - began >= 0.001


def test_what_does_not_pay_is_tried_less_and_less_often() -> None:
    """Each time in vain is followed by twice as many waits asleep, up to a bound."""
    vigil = Vigil(0)
    naps = []
    for _ in range(9):
        slept = 0
        while not vigil.begins():
            slept += 1
        naps.append(slept)
        look_out_in_vain(vigil)
    assert naps == [0, 1, 3, 7, 15, 31, 63, 63, 63]


@pytest.mark.parametrize("missed", [1, 5])
def test_what_pays_is_tried_every_time(missed: int) -> None:
    """One success makes up for what was in vain before."""
    vigil = Vigil(0)
    for _ in range(missed):
        while not vigil.begins():
            pass
        look_out_in_vain(vigil)
    while not vigil.begins():
        pass
    vigil.pays()
    assert vigil.begins()
    look_out_in_vain(vigil)
    assert not vigil.begins()
    assert vigil.begins()
