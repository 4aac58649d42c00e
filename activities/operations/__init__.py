"""Operations: work on one subject of an install with a tool, done once per key."""
