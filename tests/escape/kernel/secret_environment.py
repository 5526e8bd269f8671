"""Find the host's secrets in the environment. The zygote was started without any."""

# stopped: harmless
# alone: none
# control: works

# Python itself sets LC_CTYPE when there is no locale.
{name: value for name, value in os.environ.items() if name != "LC_CTYPE"}
