"""A stand-in for ipmitool: the management controller of the server that it runs on."""
