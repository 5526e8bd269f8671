"""Check which of the usual places exist. The empty root has none of them."""

# stopped: harmless
# alone: root
# control: works

places = "/etc /proc /proc/self /proc/1 /sys /dev /dev/null /tmp /usr /home /root /var/run /bin/sh"
[place for place in places.split() if os.path.exists(place)]
