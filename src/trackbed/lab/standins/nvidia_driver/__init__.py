"""Stand-ins for the daemons and small programs that come beside NVIDIA's driver."""
