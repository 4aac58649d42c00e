"""OCI artifacts: layout folders, the distribution client, archives and the digests of it all."""
