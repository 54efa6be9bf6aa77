"""A stand-in for nvidia-smi, driver branches 535 to 610."""
