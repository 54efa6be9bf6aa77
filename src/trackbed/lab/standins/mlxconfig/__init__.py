"""A stand-in for mlxconfig and mstconfig: the settings that an adapter keeps."""
