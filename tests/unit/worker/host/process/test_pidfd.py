"""What a pidfd tells of a child process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from caps.worker.host.process.pidfd import has_ended

_WAITS_FOR_INPUT = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()")


class TestWhetherAChildHasEnded:
    @pytest.mark.process
    def test_is_known_at_once_and_leaves_its_status(self) -> None:
        """A child that runs has not ended; one that ends is left for its owner to reap."""
        with subprocess.Popen(_WAITS_FOR_INPUT, stdin=subprocess.PIPE) as child:
            assert not has_ended(child.pid, 0)
            assert child.stdin is not None
            child.stdin.close()
            assert has_ended(child.pid, 60)
            assert child.returncode is None
            assert child.wait() == 0
