"""Made-up hardware that the real tools read: PCI trees with true config space."""

from trackbed.lab.hardware.catalogue import skus
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.hardware.tree import change_tree, write_tree

__all__ = ["change_tree", "plan_of", "skus", "write_tree"]
