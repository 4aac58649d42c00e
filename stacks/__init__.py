"""What a customer applies or installs to bring a worker into being."""
