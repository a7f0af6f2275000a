"""Writes the generated files into the checkout that this program runs from."""

from pathlib import Path

from rich import print as say

from skeletonhunter.reference import write

for path in write(Path(__file__).parents[2]):
    say(f"wrote {path}")
