"""Connections: proxies, trusted authorities, the gateway's address, and diagnosis of failures."""
