"""A stand-in for mst: the devices that the vendor's tools work through."""
