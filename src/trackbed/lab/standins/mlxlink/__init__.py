"""A stand-in for mlxlink and mstlink: a port's link, its errors and its cable."""
