"""What runs that change an install ask of the worker besides the engines: scopes, views, ends."""
