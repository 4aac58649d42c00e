"""Backends of Terraform's state, one for each kind of store; `registry` lists them."""
