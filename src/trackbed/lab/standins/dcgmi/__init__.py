"""A stand-in for dcgmi, the command line of NVIDIA's Data Center GPU Manager."""
