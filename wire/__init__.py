"""How the contract travels: data conversion, checks of arguments, and how a client connects."""
