"""`fencepost cluster`: brokers and a ZooKeeper on this machine, to play with."""

import typer

app = typer.Typer(
    help="Brokers and a ZooKeeper on this machine, to play with.", no_args_is_help=True
)
