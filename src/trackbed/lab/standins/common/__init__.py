"""What the stand-ins share."""
