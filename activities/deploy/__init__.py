"""What a deploy asks of the worker besides the engines: its scope, plan views, and its end."""
