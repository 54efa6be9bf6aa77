"""A way to journalctl: it finds the kernel's log of the node in its journal."""
