"""Why a value can't be used, in words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from schemas.refusals import explain


class Leaf(Struct, rename={"kind_": "kind"}):
    kind_: Literal["a", "b"]
    level: Annotated[int, Meta(ge=0)] | None = None


class Tree(Struct):
    leaves: dict[str, tuple[Leaf, ...]] = {}
    pair: tuple[str, Literal[1, 2]] = ("x", 1)
    best: Leaf | None = None
    colour: Literal["red", "green"] | None = None
    either: int | str = 0


GOOD = {"kind": "a"}


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ({"best": {}}, "Object missing required field `kind` - at `$.best`"),
        ({"best": {"kind": "c"}}, "Expected one of 'a', 'b', got 'c' - at `$.best.kind`"),
        ({"best": {"kind": "a", "level": -1}}, "Expected `int` >= 0 - at `$.best.level`"),
        (
            {"leaves": {"x": [GOOD], "y z": [GOOD, {"kind": 7}]}},
            "Expected `str`, got `int` - at `$.leaves.y z[1].kind`",
        ),
        ({"leaves": {"x": [{"kind": "d"}]}}, "Expected one of 'a', 'b', got 'd' - at `$.leaves.x[0].kind`"),
        ({"leaves": {"x": None}}, "Expected `array`, got `null` - at `$.leaves.x`"),
        ({"leaves": []}, "Expected `object`, got `array` - at `$.leaves`"),
        ({"pair": ["x", 3]}, "Expected one of 1, 2, got 3 - at `$.pair[1]`"),
        ({"pair": ["x"]}, "Expected `array` of length 2, got 1 - at `$.pair`"),
        ({"colour": "blue"}, "Expected one of 'red', 'green', got 'blue' - at `$.colour`"),
        ({"either": None}, "Expected `int | str`, got `null` - at `$.either`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_explains(wire: Any, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(wire, Tree)
    assert explain(caught.value, wire, Tree) == words
