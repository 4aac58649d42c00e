"""The stack for a machine of the customer's own: a folder with a systemd unit, to read and apply.

The unit decides how a worker runs on that machine, so the reasons are comments in the unit itself.
"""

from collections.abc import Mapping

from stacks.enrolment import TOKEN_FILE, Enrolment
from stacks.policy import DEFAULT_POLICY, POLICY

KIND = "systemd"

UNIT = "exclave-worker.service"
ENROLMENT = "enrolment.toml"
PAGE = "README.md"


def render(enrolment: Enrolment, app: str) -> Mapping[str, str]:
    """Render the stack of one install.

    Args:
        enrolment: The install, and the addresses of its control plane.
        app: The app that is installed.

    Returns:
        Content by file name; none of it is secret. Behind a gateway, a one-time token belongs
        beside these files, in `TOKEN_FILE`.
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
            secret=_ONLY_EXCEPTION.format(token=TOKEN_FILE) if behind else "and no secret in it",
            token_row=_ENROLMENT_ROW.format(token=TOKEN_FILE) if behind else "",
            token_step=_ENROLMENT_STEP.format(token=TOKEN_FILE) if behind else "",
            identity=_IDENTITY.format(token=TOKEN_FILE) if behind else "",
            traces=_TRACES.format(policy=POLICY) if behind else "",
            policy=POLICY,
            flags="--enrolment /etc/exclave/enrolment.toml --data /var/lib/exclave",
        ),
    }


def _reaches(enrolment: Enrolment) -> str:
    """The addresses that the worker dials, for people to read."""
    way = _TWO_ADDRESSES if enrolment.gateway is None else _ONE_ADDRESS
    return way.format(
        temporal=enrolment.temporal,
        releases=enrolment.releases,
        gateway=enrolment.gateway,
        namespace=enrolment.namespace,
        install=enrolment.install,
    )


def _where(enrolment: Enrolment) -> str:
    """Where the store is, for people to read."""
    if enrolment.store is None:
        return "the worker's store, `/var/lib/exclave/store`"
    return f"`{enrolment.store}`, and on the machine while a tool works with them"


_UNIT = """\
# The install worker of {install}. See README.md beside this file.
[Unit]
Description=Exclave install worker of {install}
Wants=network-online.target
After=network-online.target
# Never give up restarting the worker, however long it keeps failing.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=/opt/exclave/bin/exclave-worker /etc/exclave/enrolment.toml
# Where the worker finds its tools, such as Terraform.
Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/exclave/bin
# If this machine needs a proxy to reach the outside: HTTPS_PROXY and NO_PROXY, one per line.
EnvironmentFile=-/etc/exclave/environment
WorkingDirectory=/var/lib/exclave
StateDirectory=exclave
StateDirectoryMode=0700
UMask=0077
User=exclave
Group=exclave

# A worker may die at any time; its tools may not. So only the worker itself is signalled: a
# Terraform in the middle of an apply goes on, and the next worker attaches to it.
KillMode=process
# For the same reason, an out-of-memory kill of one process must not end the whole unit.
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

_ONLY_EXCEPTION = "and one secret in it,\n`{token}`, which is valid once, for a day"
_ENROLMENT_ROW = (
    "| `{token}` | lets this worker enrol once, within a day; secret until it is used |\n"
)
_ENROLMENT_STEP = "    install -m 0640 -g exclave {token} /etc/exclave/{token}\n"
_IDENTITY = """\
## How it proves who it is

On its first start the worker makes its own keys, in `/var/lib/exclave/identity`; they never leave
this machine. It enrols them with the token. From then on it gets credentials that expire after a
few minutes and are renewed while it runs. The vendor can revoke or pause it at any time. You can
pause it, too:

    runuser -u exclave -- /opt/exclave/bin/exclave worker pause --data /var/lib/exclave

To enrol it again (the machine is new, its key was revoked, or the token expired), ask the vendor
for a fresh `{token}` (`exclave install` with `--stack` writes one), and put it in place of the old
one. The running worker finds it by itself. If a key was revoked, first delete
`/var/lib/exclave/identity` and restart the worker.

"""

_TRACES = """
- The vendor also receives traces: which activity and which tool ran, when, how long and how it
  ended, with names, ids, digests, exit codes and types of errors, but no values, messages or
  output. `traces = false` in `{policy}` turns them off."""

_ONE_ADDRESS = """\
- The worker makes **outward connections only**, and nothing listens on your side. It dials only one
  address of the vendor's, the gateway `{gateway}`: for its tasks (namespace `{namespace}`,
  only its own queue `install.{install}`), and for the vendor's releases, by digest, read-only."""

_TWO_ADDRESSES = """\
- The worker makes **outward connections only**, to two addresses; nothing listens on your side:
  - `{temporal}`: its tasks (namespace `{namespace}`, only its own queue `install.{install}`)
  - `{releases}`: the vendor's releases, by digest, read-only"""

_PAGE = """\
# The install worker of {install}

This folder is everything that the vendor of **{app}** asks you to put on one of your machines. Read
it before you apply it; there is nothing else, {secret}.

| file | what it is |
|---|---|
| `{unit}` | runs the worker as a user of its own, without privileges |
| `{enrolment}` | names the install that it serves, and the addresses that it dials |
{token_row}| `{policy}` | says what the worker may do here; you can change it at any time |
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
  {store}. The vendor receives digests and
  counts of plans, plan views and outputs without sensitive values, and error messages with secrets
  masked. If somebody there asks for them, the tools' logs and the app's page of this install are
  sent, too, masked in the same way.{traces}
- You set sensitive inputs here, each from a file or typed:

      runuser -u exclave -- /opt/exclave/bin/exclave worker set-input NAME {flags} < FILE

## What you decide

`{policy}` is yours: nothing that the vendor sends can change it. All that the worker reveals of it
is whose approval it requires and which keys it sets. The worker reads it again for each operation.
It says which operations and actions are allowed, at which hours an apply may begin, and whose
approval an apply needs: the vendor's, yours, or both. Unless you change the file, everything in the
release is allowed, and the vendor approves.

    runuser -u exclave -- /opt/exclave/bin/exclave worker plans --view {flags}
    runuser -u exclave -- /opt/exclave/bin/exclave worker approve {flags}

The worker records every request it receives, the digest of what it ran, and the outcome, in a
journal in which every line contains the hash of the previous line:

    runuser -u exclave -- /opt/exclave/bin/exclave worker journal --verify {flags}

## What to know

What the tools do with the permissions of this machine is up to the app: its Terraform modules and
scripts are in the release, which you can pull by its digest and read. They run as the same user as
the worker, so a vendor's script can read and write this install's store. The policy limits what the
worker may be asked to do; it does not protect you from a malicious release. Let only root write to
`/etc/exclave`.

## Apply it

As root, with Exclave installed in `/opt/exclave` (a Python environment with `exclave` in it) and
`terraform` on the PATH:

    useradd --system --home-dir /var/lib/exclave --shell /usr/sbin/nologin exclave
    install -D -m 0644 {enrolment} /etc/exclave/enrolment.toml
{token_step}    install -m 0644 {policy} /etc/exclave/policy.toml
    install -m 0644 {unit} /etc/systemd/system/{unit}
    systemctl daemon-reload
    systemctl enable --now {unit}

If it cannot connect, this command says which host is unreachable, and why:

    runuser -u exclave -- /opt/exclave/bin/exclave worker doctor {flags}

Behind a proxy, first write `HTTPS_PROXY=http://proxy.example.com:3128` into
`/etc/exclave/environment` (owned by root, mode 0600), and set it for that command, too. If your
network intercepts TLS, name your own authority's certificate in `{enrolment}`:
`ca_bundle = "/etc/exclave/ca.pem"`. Both apply to the worker and all its tools.
"""
