"""`trackbed read`: understand files that somebody sent, without a cluster."""
