"""What the modules of a config declare: read, not run, to check the config against them."""
