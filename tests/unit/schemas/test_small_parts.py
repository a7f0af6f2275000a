"""Instants, ids and the checks that many types share."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.envelope import NESTING, same_lengths, shallow
from schemas.ids import content_id
from schemas.instants import SECOND_US, micros, seconds, window_end, window_start

instants = st.integers(0, 2**53 - 1)
widths = st.integers(1, 10**10)


@given(instants, widths)
def test_every_instant_is_in_one_window_open_at_the_start_and_closed_at_the_end(t_us: int, width_us: int) -> None:
    start, end = window_start(t_us, width_us), window_end(t_us, width_us)
    assert start < t_us <= end
    assert end - start == width_us
    assert start % width_us == 0


@given(st.integers(0, 10**12))
def test_durations_go_to_seconds_and_back(duration_us: int) -> None:
    assert micros(seconds(duration_us)) == duration_us
    assert seconds(SECOND_US) == 1.0


def test_ids_depend_on_content_not_on_the_order_of_names() -> None:
    assert content_id("an", {"b": 1, "a": [2.5, None, "ü"]}) == content_id("an", {"a": [2.5, None, "ü"], "b": 1})
    assert content_id("an", 1, 2) != content_id("an", 2, 1) != content_id("an", [1, 2])
    assert content_id("an", "1") != content_id("an", 1) != content_id("in", 1)


def test_ids_are_the_same_on_every_machine_and_in_every_version() -> None:
    assert content_id("an", "c-01/mlx5_0", 1) == "an-8783a63768c9090d"


def test_ids_do_not_depend_on_the_hash_seed() -> None:
    program = "from schemas.ids import content_id; print(content_id('x', {'a': 1, 'b': 2, 'c': 3}))"
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_ids_of_what_is_not_json_are_refused() -> None:
    with pytest.raises(TypeError):
        content_id("an", object())


def test_columns_of_unequal_length_are_named() -> None:
    same_lengths(a=(1, 2), b=(3, 4), c=None)
    with pytest.raises(ValueError, match="one length: a has 2, b has 1"):
        same_lengths(a=(1, 2), b=(3,), c=None)


def nested(levels: int) -> object:
    item: object = 1
    for level in range(levels):
        item = {"a": item} if level % 2 else [item]
    return item


def test_free_form_values_are_bounded_in_depth() -> None:
    shallow(values=nested(NESTING - 1), groups=None)
    with pytest.raises(ValueError, match=f"values is nested deeper than {NESTING} levels"):
        shallow(values=nested(NESTING))
