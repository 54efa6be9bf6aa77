"""Stand-ins for modprobe, rmmod and lsmod."""
