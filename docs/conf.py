"""How the pages of this folder become a site (``make site``). Every warning is an error: links lead somewhere."""

from importlib import metadata

project = "SkeletonHunter"
author = "the SkeletonHunter developers"
release = metadata.version("skeletonhunter")
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # parameters in braces are ClickHouse's own
html_theme = "furo"
html_title = "SkeletonHunter"
html_show_sourcelink = False
html_copy_source = False
