"""The memory of the zygote lies side by side, so that large pages can hold it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from caps.worker.inside.confinement import linux

pytestmark = pytest.mark.process

PROGRAM = """
import gc, json
from caps.worker.inside.zygote.large_pages import large_regions, reserve_arenas
from caps.worker.inside.confinement import linux

kept = reserve_arenas()
made = [[number] for number in range(200_000)]
regions = large_regions()
sizes = {size for _, size in regions}
inside = all(any(at <= id(each) < at + size for at, size in regions) for each in made[::1000])
asked = [linux.use_large_page(at, size) for at, size in regions]
whole = sum(one[0] for one in made) == sum(range(200_000)) and not any(map(any, kept))
addresses = sorted(map(id, kept))
print(json.dumps([len(kept), sorted(sizes), inside, whole, len(asked),
                  addresses[-1] - addresses[0], gc.get_freeze_count() > 0]))
"""


def test_objects_keep_their_values_whether_or_not_the_kernel_has_large_pages() -> None:
    """Each region is one large page; arenas taken at once lie side by side."""
    command = (sys.executable, "-I", "-c", PROGRAM)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept, sizes, inside, whole, asked, spread, frozen = json.loads(done.stdout)
    assert sizes == [2 << 20]
    assert inside
    assert whole
    assert asked > 0
    assert kept * (1 << 19) <= spread + (2 << 20) <= 2 * kept * (1 << 20)
    assert frozen


def test_a_region_that_is_not_mapped_is_left_alone() -> None:
    """The kernel refuses, and that is no error."""
    assert linux.use_large_page(0, 2 << 20) is False
