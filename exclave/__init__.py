"""The `exclave` command. `main` lists the commands, `commands/` has their modules.

Beside them: `plane` reaches the control plane, and `refusals` says what it refuses; `following`
looks at a run whenever something happens, `watching` tells of it to its end, and `desk` puts its
plans before a person; `screens/` is what a person sees. `dev/` is the development control plane.
"""
