"""A folder of OCI layouts, served as a registry."""
