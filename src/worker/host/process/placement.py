"""Which processors a worker may run on, and when: its affinity and its scheduling policy.

A worker that is *near* runs on one processor only, with the policy SCHED_IDLE: whenever nothing
else wants to run there. The system calls are those of the host; a worker cannot make them.
"""

from __future__ import annotations

import logging
import os
import signal

from caps.worker.host.process.scheduling import NO_PRIORITY

logger = logging.getLogger(__name__)


class Placement:
    """The placement of the process of a pidfd, which the caller keeps open while it uses this.

    The system calls take a process id, which may be reused once its process is reaped. Just before,
    the pidfd still finds the process. Linux gives out ids in order, so for a reuse in between all
    other ids would have to be used up within microseconds.
    """

    __slots__ = ("_pid", "_pidfd", "_processors")

    def __init__(self, pidfd: int, pid: int) -> None:
        """`pid` is the last known process id of the pidfd."""
        self._pidfd = pidfd
        self._pid = pid
        # Those that it may run on when it is apart; empty while it is.
        self._processors: set[int] = set()

    def near(self, processor: int) -> bool:
        """Run it on this processor only, when nothing else wants to. One that is near is moved.

        Returns False if that is not possible; then it is apart.
        """
        try:
            signal.pidfd_send_signal(self._pidfd, 0)  # sends nothing; fails if it is reaped
            if not self._processors:
                if os.sched_getscheduler(self._pid) != os.SCHED_OTHER:
                    return False  # the operator chose a policy, which `apart` would not restore
                self._processors = os.sched_getaffinity(self._pid)
                os.sched_setscheduler(self._pid, os.SCHED_IDLE, NO_PRIORITY)
            os.sched_setaffinity(self._pid, {processor})
        except OSError as error:
            logger.debug("a worker cannot share the processor of its host: %s", error)
            self.apart()
            return False
        return True

    def apart(self) -> None:
        """Restore the usual policy and the processors it had. Harmless if it is apart."""
        if not self._processors:
            return
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
            self._restore_policy()
            os.sched_setaffinity(self._pid, self._processors)
        except ProcessLookupError:
            pass  # it has ended
        except OSError as error:
            logger.debug("the processors of a worker cannot be restored: %s", error)
            return  # the next call tries again
        self._processors = set()  # last: an interrupt may come before it is done

    def _restore_policy(self) -> None:
        try:
            os.sched_setscheduler(self._pid, os.SCHED_OTHER, NO_PRIORITY)
        except ProcessLookupError:
            raise
        except OSError as error:  # its other processors matter all the more
            logger.debug("the policy of a worker cannot be restored: %s", error)
