"""The codec server's process: plain text for the Temporal UI and CLI, for those who may see it."""

import argparse
import asyncio
import sys
from pathlib import Path

from pydantic import SecretStr

from gateway.front.listening import CannotListen, listen
from wire.encryption.codec_server import codec_server
from wire.encryption.key_files import KeyFileError, read_private
from workers.flags import add_keys_flag, keys_of
from workers.registry import serve_apps


def main() -> None:
    """Run the process; its settings are flags."""
    parser = argparse.ArgumentParser(prog="python -m workers.codec", description=__doc__)
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--namespace", required=True, action="append", help="an org to serve")
    parser.add_argument(
        "--ui",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="the Temporal UI's origin, for example http://127.0.0.1:8233",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="the token that callers must show; without it, only this machine is answered",
    )
    add_keys_flag(parser)
    flags = parser.parse_args()
    keys = keys_of(parser, flags)
    if keys is None:
        parser.error("the master keys are missing: --keys FILE")
    try:
        token = SecretStr(read_private(flags.token_file).strip()) if flags.token_file else None
        bound = listen(flags.listen, "the codec server")
    except (CannotListen, KeyFileError) as error:
        sys.exit(str(error))
    if token is not None and not token.get_secret_value():
        sys.exit(f"{flags.token_file} is empty; write a long random token into it")
    app = codec_server(keys, token=token, origins=flags.ui, namespaces=frozenset(flags.namespace))
    asyncio.run(serve_apps({bound: app}))


if __name__ == "__main__":
    main()
