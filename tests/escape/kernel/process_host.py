"""Learn of a process outside by its number. Seccomp refuses it; it has no number in here."""

# stopped: refused
# alone: namespaces seccomp
# control: works

os.getpriority(os.PRIO_PROCESS, HOST["process"]) == HOST["nice"]
