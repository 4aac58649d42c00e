"""Connections: proxies, trusted authorities, the gateway's address, and what is in the way."""
