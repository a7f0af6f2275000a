"""Hashes of many flows at once are those of their texts."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner.hashing import FlowHash, advance, crcs, join

texts = st.text(alphabet="0123456789.:abcdef", max_size=24)


@given(texts, texts)
@settings(max_examples=200, deadline=None)
def test_the_crc_of_a_text_is_made_of_those_of_its_parts(first: str, second: str) -> None:
    front, back = crcs([first]), crcs([second])
    assert int((advance(front, len(second)) ^ back)[0]) == crc32((first + second).encode())
    assert int(join(front, back, np.array([len(second)]))[0]) == crc32((first + second).encode())


@given(
    st.lists(texts, min_size=2, max_size=6),
    st.integers(1024, 60_000),
    st.integers(1, 5_000),
    st.lists(texts, min_size=1, max_size=3, unique=True),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_the_hash_is_that_of_the_whole_text(
    addresses: list[str], first: int, count: int, salts: list[str], data: st.DataObject
) -> None:
    index = st.integers(0, len(addresses) - 1)
    pairs = np.array(data.draw(st.lists(st.tuples(index, index), min_size=1, max_size=8)))
    ports = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=len(pairs), max_size=len(pairs))))
    flows = FlowHash(addresses, (pairs[:, 0], pairs[:, 1]), (first, count), salts)
    for salt, text in enumerate(salts):
        found = flows.at(np.arange(len(pairs)), ports, salt).tolist()
        assert found == [
            crc32(f"{addresses[a]}|{addresses[b]}|17|{first + port}|4791|{text}".encode())
            for (a, b), port in zip(pairs.tolist(), ports.tolist(), strict=True)
        ]


def test_no_rows_are_no_rows() -> None:
    nothing = np.zeros(0, dtype=np.uint32)
    assert len(join(nothing, nothing, np.zeros(0, dtype=np.int64))) == 0
