"""How the contract travels: data conversion, checks of arguments, encryption, and connections."""

import sys

# httpx imports its command line if it can: click, rich and pygments, 5 MB of every process that
# fetches anything. Marking that module as missing makes it do without.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
