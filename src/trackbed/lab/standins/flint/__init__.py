"""A stand-in for flint and mstflint: the firmware in an adapter's flash."""
