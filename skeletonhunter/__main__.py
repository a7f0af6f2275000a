"""``python -m skeletonhunter``: the program without its script on the path."""

from skeletonhunter.cli import main

main()
