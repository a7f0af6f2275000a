"""What pages tell a reader to type is understood by the program of today: commands, options, settings, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from collectors.agent_settings import AgentSettings
from skeletonhunter.cli import build_cli
from skeletonhunter.collecting import load_agent_settings
from skeletonhunter.reference.configuration import sections_of
from skeletonhunter.settings import Settings, load_settings
from skeletonhunter.settings_sources import PREFIX, SettingsError
from tests.docs.test_documents import CHECKOUT, documents

CHANGES = ("CHANGELOG.md",)
"""Tells of the past, too."""
PAGES = [path for path in documents() if path not in CHANGES]
COMMAND = re.compile(r"(?<![\w./-])(?<!-n )skeletonhunter ([a-z]+)((?: [^`\n|#;&)]*)?)")
SETTING = re.compile(r"^([a-z_]+) = ")
VARIABLE = re.compile(rf"{PREFIX}([A-Z_]+)")
SECRET_FILE = re.compile(r'^(\w+_file|ca|certificate|key) = ".*?"', re.MULTILINE)


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a page in a language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)


def typed(text: str) -> str:
    """What of a page is typed: its blocks of the shell, and code within sentences."""
    shell = "\n".join([*blocks(text, ""), *blocks(text, "sh")])
    plain = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join([shell, *re.findall(r"`([^`]+)`", plain)])


@cache
def commands() -> dict[str, Any]:
    """The commands of the program by name, as Typer made them."""
    made: Any = typer.main.get_command(build_cli())
    return dict(made.commands)


def misunderstood(text: str) -> Iterator[str]:
    """Commands and options in what is typed that the program does not have."""
    for name, rest in COMMAND.findall(text):
        command = commands().get(name)
        if command is None:
            yield f"skeletonhunter {name}"
            continue
        known = {word for each in command.params for word in (*each.opts, *each.secondary_opts)} | {"--help"}
        quoted = re.sub(r"\"[^\"]*\"", "", rest)
        yield from (
            f"{name} {option}" for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", quoted) if option not in known
        )


def fields() -> set[str]:
    """Names of all settings, of the back end and of the agent."""
    pages = "\n".join([*sections_of("", Settings), *sections_of("", AgentSettings)])
    return set(re.findall(r"^\| `(\w+)` \|", pages, re.MULTILINE))


def variables() -> set[str]:
    """Names of all settings as they are in the environment, without the prefix."""
    pages = "\n".join([*sections_of("", Settings), *sections_of("", AgentSettings)])
    return set(VARIABLE.findall(pages))


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_of_a_page_exist(page: str) -> None:
    assert list(misunderstood(typed((CHECKOUT / page).read_text()))) == []


def test_an_unknown_command_or_option_is_found() -> None:
    text = (
        "```\nskeletonhunter plan REC --pps 3 --budget 7\n```\nor `skeletonhunter prune`, `.venv/bin/skeletonhunter x`"
    )
    assert list(misunderstood(typed(text))) == ["plan --budget", "skeletonhunter prune"]


@pytest.mark.parametrize("page", PAGES)
def test_settings_that_a_page_names_exist(page: str) -> None:
    text = (CHECKOUT / page).read_text()
    named = [found[1] for code in re.findall(r"`([^`\n]+)`", text) if (found := SETTING.match(code))]
    elsewhere = {"distributed_foreground_insert", "distributed_product_mode"}  # ClickHouse's
    assert set(named) - elsewhere <= fields()
    assert {name.rstrip("_") for name in VARIABLE.findall(text)} - {"TEST_KAFKA"} <= variables() | {""}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks((CHECKOUT / page).read_text(), "toml")])
def test_settings_files_of_a_page_are_read(page: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef")
    for number, block in enumerate(blocks((CHECKOUT / page).read_text(), "toml")):
        file = tmp_path / f"{number}.toml"
        file.write_text(SECRET_FILE.sub(rf'\1 = "{secret}"', block))
        read = load_agent_settings if "[agent]" in block else load_settings
        assert isinstance(read(file, {}, {}), msgspec.Struct)


def test_a_settings_file_with_a_name_of_yesterday_is_found(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text('[agent]\nfabric = "f"\ncollectors = ["rnic"]\n')
    with pytest.raises(SettingsError, match="collectors"):
        load_agent_settings(file, {}, {})
    assert "collectors" not in fields()
    assert "parts" in fields()
