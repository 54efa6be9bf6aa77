"""A stand-in for mlxfwreset and mstfwreset: an adapter's firmware starts anew."""
