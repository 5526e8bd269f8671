# `sched`, `getopt`, `gc.collect` and `errno`
import errno
import gc
import getopt
import sched
import time

queue, done = sched.scheduler(time.monotonic, time.sleep), []
queue.enter(0.002, 1, done.append, ("second",))
queue.enter(0.001, 1, done.append, argument=("first",))
queue.run()
assert done == ["first", "second"] and queue.empty()
options, rest = getopt.getopt(["-a", "1", "--long=x", "rest"], "a:", ["long="])
assert options == [("-a", "1"), ("--long", "x")] and rest == ["rest"]
assert gc.collect() >= 0 and errno.ENOENT == 2
