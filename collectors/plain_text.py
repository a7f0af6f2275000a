"""What did a program write, without what terminals, editors and crashes add to it? Pure and total.

Taken away are escape sequences of terminals (colours; also as rsyslog writes them, ``#033[31m``), a byte order mark at
the beginning, and zero bytes around the text, which a log has where its host lost power. Cost: a microsecond, if there
is nothing of the kind.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"(?:\x1b|#033)\[[0-9;?]{0,32}[A-Za-z]")
_AROUND = "\ufeff\0"


def plain(text: str) -> str:
    """The text alone."""
    text = _ESCAPES.sub("", text) if "\x1b[" in text or "#033[" in text else text
    return text.strip(_AROUND)
