"""The zygote: prepares, confines itself, forks workers. Never sees untrusted input."""
