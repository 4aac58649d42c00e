"""The tool: does what a plan says, a file at a time, each of them whole or not at all."""

import json
import sys
import time
from pathlib import Path

plan = json.loads(Path(sys.argv[1]).read_text())
folder = Path(plan["folder"])
folder.mkdir(parents=True, exist_ok=True)
for name, text in plan["files"].items():
    file = folder / name
    if text is None:
        file.unlink(missing_ok=True)
    else:
        file.with_name(f".{name}.new").write_text(text)
        file.with_name(f".{name}.new").rename(file)
    with Path(plan["lines"]).open("a") as lines:
        lines.write(f"{'-' if text is None else '+'}{name}\n")
    print(f"{name} is done", flush=True)
    time.sleep(plan["seconds"])
