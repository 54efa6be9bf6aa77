"""A stand-in for mlnx_qos: trust, flow control and traffic classes of a port."""
