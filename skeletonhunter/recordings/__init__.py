"""Recordings: pipeline messages in files, to replay, share and judge. See ``manifest`` for the format."""
