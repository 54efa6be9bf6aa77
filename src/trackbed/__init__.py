"""Trackbed: takes racks of bare GPU servers to a level, proven, upgradable training cluster."""
