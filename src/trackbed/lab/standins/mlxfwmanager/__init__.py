"""A stand-in for mlxfwmanager: the firmware of all adapters in one list."""
