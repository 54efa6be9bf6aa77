"""A stand-in for dmesg of util-linux: the log of a kernel that a container has not."""
