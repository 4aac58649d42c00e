"""What the build worker does: an uploaded config folder becomes one release."""
