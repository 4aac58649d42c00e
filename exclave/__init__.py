"""The `exclave` command: `main` lists the commands, `commands/` has their modules.

`watching` follows a run to its end, and `approval_prompts` asks a person about its plans.
`screens/` is what a person sees. `worker` and `worker_machine` are for the customer's side. `dev/`
is the development control plane, `demo/` a story that runs on it. Calls to the control plane are
in the room `client/`.
"""
