"""Ask for the size of /etc/passwd; stat is allowed, for the channel.

The empty root has no such file.
"""

# stopped: absent
# alone: root
# control: works

os.stat("/etc/passwd").st_size
