"""Judging policies: what one decides and why, what it would change, what is wrong with it.

catalogue.py    what exists, as these tools need to know it
policy_tests.py the tests that a policy carries, run one by one
explain.py      which rule decided, and the smallest change that would allow the call
diff.py         what one policy lets through beside another
lint.py         rules that do nothing, or more than was meant
replay.py       what another policy would have said to the calls of a log
learn.py        the smallest policy for the calls of a log, with the evidence for each rule
observed.py     the decisions of a log, for both; lessons.py and learn_limits.py: what they teach
findings.py     the codes of lint

All of it is pure: policies, catalogues and records in, values out; only where a scope leads, beside
the policy's own file, is asked of the file system. Nothing here grants anything;
what is judged is decided by `decision.decide`. Only replay applies its rules once more, to
arguments that a log hides in part; a property test holds it to what `decide` says.
"""
