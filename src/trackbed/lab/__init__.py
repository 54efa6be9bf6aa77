"""The lab: a cluster of simulated GPU nodes, made of containers and made-up hardware."""
