"""The build worker's activities: they turn an uploaded config folder into one release."""
