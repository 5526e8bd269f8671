"""One worker process: its pidfd, CPU clock and peak memory. No policy, no protocol."""
