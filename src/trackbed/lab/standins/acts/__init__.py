"""What a node does to itself where a fault is not one of its hardware."""
