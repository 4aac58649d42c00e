"""How the contract travels: data conversion, checks of arguments, and how a client connects."""

import sys

# httpx takes in its command line where it can: click, rich and pygments, 5 MB of every process
# that fetches anything. To say that there is none makes it go on without.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
