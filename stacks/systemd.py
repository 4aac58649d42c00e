"""The stack for a machine of the customer's own: a folder with a systemd unit, to read and apply.

What is here decides how a worker lives on that machine, so the reasons stand in the unit itself.
"""

from collections.abc import Mapping

from stacks.enrolment import TOKEN_FILE, Enrolment
from stacks.policy import DEFAULT_POLICY, POLICY

KIND = "systemd"

UNIT = "exclave-worker.service"
ENROLMENT = "enrolment.toml"
PAGE = "README.md"


def render(enrolment: Enrolment, app: str) -> Mapping[str, str]:
    """The stack of one install.

    Args:
        enrolment: Which install, and where its control plane is.
        app: The app that is installed.

    Returns:
        Content by file name; nothing of it is secret. Behind a gateway a one-time token belongs
        beside it, in `TOKEN_FILE`.
    """
    behind = enrolment.gateway is not None
    return {
        UNIT: _UNIT.format(install=enrolment.install),
        ENROLMENT: enrolment.render(),
        POLICY: DEFAULT_POLICY,
        PAGE: _PAGE.format(
            install=enrolment.install,
            app=app,
            reaches=_reaches(enrolment),
            store=_where(enrolment),
            unit=UNIT,
            enrolment=ENROLMENT,
            secret=_BUT_ONE.format(token=TOKEN_FILE) if behind else "and no secret in it",
            token_row=_ITS_ROW.format(token=TOKEN_FILE) if behind else "",
            token_step=_ITS_STEP.format(token=TOKEN_FILE) if behind else "",
            identity=_IDENTITY.format(token=TOKEN_FILE) if behind else "",
            traces=_TRACES.format(policy=POLICY) if behind else "",
            policy=POLICY,
            flags="--enrolment /etc/exclave/enrolment.toml --data /var/lib/exclave",
        ),
    }


def _reaches(enrolment: Enrolment) -> str:
    """What the worker dials, for a person."""
    way = _TWO_ADDRESSES if enrolment.gateway is None else _ONE_ADDRESS
    return way.format(
        temporal=enrolment.temporal,
        releases=enrolment.releases,
        gateway=enrolment.gateway,
        namespace=enrolment.namespace,
        install=enrolment.install,
    )


def _where(enrolment: Enrolment) -> str:
    """Where the store is, for a person."""
    if enrolment.store is None:
        return "the worker's store, `/var/lib/exclave/store`"
    return f"`{enrolment.store}`, and on the machine while a tool works with them"


_UNIT = """\
# The install worker of {install}. See README.md beside this file.
[Unit]
Description=Exclave install worker of {install}
Wants=network-online.target
After=network-online.target
# It may be away for as long as it takes: never give up starting it.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=/opt/exclave/bin/exclave-worker /etc/exclave/enrolment.toml
# The tools that it starts are found here, Terraform first of all.
Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/exclave/bin
# Where this machine reaches the outside through a proxy: HTTPS_PROXY, NO_PROXY, one a line.
EnvironmentFile=-/etc/exclave/environment
WorkingDirectory=/var/lib/exclave
StateDirectory=exclave
StateDirectoryMode=0700
UMask=0077
User=exclave
Group=exclave

# A worker may die at any time; its tools may not. Only the worker itself is signalled: a Terraform
# in the middle of an apply goes on, and the next worker attaches to it.
KillMode=process
# For the same reason the kernel's out-of-memory killer must not end everything at once.
OOMPolicy=continue
Restart=always
RestartSec=2
# Draining lets running tools finish, and the longest may take an hour.
TimeoutStopSec=4000

NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
LockPersonality=yes

[Install]
WantedBy=multi-user.target
"""

_BUT_ONE = "and one secret in it,\n`{token}`, which is good once and for a day"
_ITS_ROW = "| `{token}` | lets this worker enrol: once, and for a day; a secret until then |\n"
_ITS_STEP = "    install -m 0640 -g exclave {token} /etc/exclave/{token}\n"
_IDENTITY = """\
## How it proves who it is

On its first start the worker makes keys of its own, in `/var/lib/exclave/identity`, which never
leave this machine. With the token it has them enrolled, and from then on gets credentials that end
after some minutes and are renewed while it runs. The vendor can revoke or pause it at any time, and
so can you: `runuser -u exclave -- /opt/exclave/bin/exclave worker pause --data /var/lib/exclave`.

To enrol it again (the machine is new, its key was revoked, the token was too old), ask the vendor
for a fresh `{token}` (`exclave install` with `--stack` writes one), and put it there. The running
worker finds it by itself. Where a key was revoked, delete `/var/lib/exclave/identity` first, and
restart the worker.

"""

_TRACES = """
- So do traces: which activity and which tool ran, when, how long and how it ended, by names, ids,
  digests, exit codes and types of errors; without values, messages and output. `traces = false` in
  `{policy}` turns them off."""

_ONE_ADDRESS = """\
- The worker makes **outward connections only**, and nothing listens on your side. Of the vendor's
  it dials one address alone, the gateway `{gateway}`: for its tasks (namespace `{namespace}`,
  its own queue `install.{install}` alone), and for the vendor's releases, by digest, read-only."""

_TWO_ADDRESSES = """\
- The worker makes **outward connections only**, to two addresses; nothing listens on your side:
  - `{temporal}`: its tasks (namespace `{namespace}`, its own queue `install.{install}` alone)
  - `{releases}`: the vendor's releases, by digest, read-only"""

_PAGE = """\
# The install worker of {install}

This folder is all that the vendor of **{app}** asks you to put on one machine of yours. Read it
before you apply it; there is nothing else, {secret}.

| file | what it is |
|---|---|
| `{unit}` | runs the worker as a user of its own, without privileges |
| `{enrolment}` | which install it serves, and the addresses that it dials |
{token_row}| `{policy}` | what the worker may do here: yours to change, at any time |
| `README.md` | this page |

## What it grants

{reaches}
- It runs Terraform and the app's action scripts **as the user `exclave` of this machine**, with the
  cloud permissions that you give to that machine or user, and no others. Give it a role of its own.
- Every change is **planned first**. A plan with changes waits until somebody approves exactly that
  plan, by its digest. The worker computes the digest again before it applies anything.

## What it does not grant

- Nobody can log in to this machine, or reach it, through the worker.
- Terraform's state, plans, rendered variables, logs and sensitive inputs stay with you: in
  {store}. To the vendor go: digests and
  counts of plans, plan views without what is sensitive, outputs that are not sensitive, and error
  messages with secrets masked; when somebody there asks for them, also the tools' logs and the
  app's page of this install, masked likewise.{traces}
- Sensitive inputs are set here, by you, each from a file or typed:

      runuser -u exclave -- /opt/exclave/bin/exclave worker set-input NAME {flags} < FILE

## What you decide

`{policy}` is yours: nothing that the vendor sends can change it, and what the worker tells of it
is whose approval it asks for and which keys it sets. The worker reads it anew at each operation.
It says which operations and actions are allowed, at which hours an apply may begin, and whose
approval it needs: the vendor's, yours, or both. As the file comes, everything that is in the
release is allowed, and the vendor approves.

    runuser -u exclave -- /opt/exclave/bin/exclave worker plans --view {flags}
    runuser -u exclave -- /opt/exclave/bin/exclave worker approve {flags}

The worker writes down everything that it is told, what it ran by digest, and what came of it, in a
journal whose every line holds the hash of the line before:

    runuser -u exclave -- /opt/exclave/bin/exclave worker journal --verify {flags}

## What to know

What the tools do with the permissions of this machine is the app's own business: its Terraform
modules and scripts are in the release, which you can pull by its digest and read. They run as the
same user as the worker, so a script of the vendor's can read this install's store, and write to it:
the policy binds whoever tells the worker what to do, not a release that means harm. Leave
`/etc/exclave` to root.

## Apply it

As root, with Exclave installed in `/opt/exclave` (a Python environment with `exclave` in it) and
`terraform` on the PATH:

    useradd --system --home-dir /var/lib/exclave --shell /usr/sbin/nologin exclave
    install -D -m 0644 {enrolment} /etc/exclave/enrolment.toml
{token_step}    install -m 0644 {policy} /etc/exclave/policy.toml
    install -m 0644 {unit} /etc/systemd/system/{unit}
    systemctl daemon-reload
    systemctl enable --now {unit}

If it does not get through, this says which host cannot be reached, and why:

    runuser -u exclave -- /opt/exclave/bin/exclave worker doctor {flags}

Behind a proxy, write `HTTPS_PROXY=http://proxy.example.com:3128` into `/etc/exclave/environment`
(0600, of root) before, and have it in the environment of that command, too. Where your network
looks into TLS, name your own authority's certificate in `{enrolment}`:
`ca_bundle = "/etc/exclave/ca.pem"`. Both hold for the worker and all its tools.
"""
