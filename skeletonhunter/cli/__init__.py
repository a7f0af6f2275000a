"""The command line: one file a command, each a thin shell; what is heavy is imported inside the command.

Exit codes: 0 done, 1 ran and found the input wrong (one clear sentence on stderr), 2 bad usage.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

COMMANDS: tuple[str, ...] = (
    "acls",
    "alert",
    "anonymise",
    "collect",
    "demo",
    "doctor",
    "diff",
    "evaluate",
    "explain",
    "feedback",
    "infer",
    "migrate",
    "plan",
    "purge",
    "query",
    "record",
    "relay",
    "replay",
    "report",
    "score",
    "simulate",
    "sink",
    "skeleton",
    "topics",
    "work",
)
"""Modules of this package, each with a function of the same name (``_`` for ``-``)."""


class InputError(Exception):
    """The input is wrong; the text is one clear sentence naming file, line and field. The program exits with 1."""


def kafka_refusal(url: str, error: Exception) -> InputError:
    """What Kafka says, as a sentence. ``error``: a ``KafkaException``."""
    return InputError(f"Kafka at {url} says: {error.args[0].str()}")


def build_cli(wanted: str | None = None) -> typer.Typer:
    """The program with all its commands, or with the one that is ``wanted``, where there is such a command.

    A command that runs alone is loaded alone: the agent must not carry what the others need.
    """
    cli = typer.Typer(
        name="skeletonhunter",
        help="Finds what broke in the network of a training cluster: who is to blame, how sure, why, and what to do.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    cli.callback()(_program)
    alone = [name for name in COMMANDS if name.replace("_", "-") == wanted]
    for name in alone or COMMANDS:
        module = import_module(f"skeletonhunter.cli.{name}")
        cli.command(name.replace("_", "-"))(getattr(module, name))
    return cli


def _program() -> None:
    """Keeps the commands named even while there is only one."""


def main() -> None:
    """Entry point of the program ``skeletonhunter``."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # our matrices are small: its threads would only wait for cores
    try:
        build_cli(sys.argv[1] if len(sys.argv) > 1 else None)()
    except InputError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise SystemExit(1) from None
