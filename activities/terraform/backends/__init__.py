"""Where Terraform keeps its state: a backend for each kind of store. `registry` lists them."""
