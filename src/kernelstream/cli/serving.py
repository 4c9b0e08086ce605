"""``kernelstream serve`` and ``kernelstream token``: models behind an address, and who may ask them."""

import time
from pathlib import Path
from typing import Annotated

import typer

from ..extras import require
from .places import check_places
from .values import Command, Group

Store = Annotated[Path, typer.Option(help="The directory with models, logs and tokens.")]

token = typer.Typer(
    cls=Group,
    help="Make, list and revoke the tokens of a service.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def serve(
    store: Annotated[Path | None, typer.Option(help="The directory with models, logs and tokens.")] = None,
    host: Annotated[str | None, typer.Option(help="127.0.0.1; others need a token.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="8000; 0 takes one that is free.")] = None,
    tls_certificate: Annotated[Path | None, typer.Option(help="A PEM file, for https.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key, a PEM file.")] = None,
    log_level: Annotated[str | None, typer.Option(metavar="debug|info|warning|error")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with these and all other settings.")] = None,
) -> None:
    """Serve models that keep learning: HTTP, a page to look at, metrics.

    What is learned is durable before it is answered; after a crash the models go on where they were. Signals to
    interrupt or terminate stop the service when its requests are answered and its models written.
    """
    require("fastapi", "uvicorn", "msgspec")
    from ..serve import Settings
    from ..serve import serve as serving

    check_places({"--config": config, "--tls-certificate": tls_certificate, "--tls-key": tls_key}, {})
    given = {"store": store, "host": host, "port": port, "log_level": log_level}
    given |= {"tls_certificate": tls_certificate, "tls_key": tls_key}
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = Settings.read(config, **{k: str(v) if isinstance(v, Path) else v for k, v in chosen.items()})
    serving(settings, said=lambda address: typer.echo(f"kernelstream serves {settings.store} at {address}"))


@token.command("make", cls=Command)
def make_token(
    name: Annotated[str, typer.Argument(help="What the token is called in logs and lists.")],
    scope: Annotated[str, typer.Option(metavar="predict|learn|admin", help="What it may; each may the ones before.")],
    store: Store,
) -> None:
    """Make a token and print it; it cannot be shown again."""
    require("fastapi", "msgspec")
    from ..serve import tokens

    typer.echo(tokens.make_token(store, name, scope))


@token.command("list", cls=Command)
def list_tokens(store: Store) -> None:
    """List the tokens' names and scopes."""
    require("fastapi", "msgspec")
    from ..serve import tokens

    for name, scope, made in tokens.listed(store):
        typer.echo(f"{name}\t{scope}\t{time.strftime('%Y-%m-%d %H:%M', time.localtime(made))}")


@token.command("revoke", cls=Command)
def revoke_token(name: Annotated[str, typer.Argument()], store: Store) -> None:
    """Revoke a token; a service that runs refuses it within a second."""
    require("fastapi", "msgspec")
    from ..serve import tokens

    tokens.revoke(store, name)
