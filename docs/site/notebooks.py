"""A notebook as a page: its text, and its code in blocks.

Enters: the JSON of a notebook. Leaves: Markdown. Must not know: what the code does. Results are
left out: a notebook in the repository has none, a test runs it.
"""

from __future__ import annotations

import json


def notebook_page(text: str) -> str:
    """The cells of a notebook as Markdown, one after the other."""
    cells = json.loads(text)["cells"]
    parts = [(cell["cell_type"], "".join(cell["source"]).strip()) for cell in cells]
    return "\n\n".join(
        f"```python\n{source}\n```" if kind == "code" else source
        for kind, source in parts
        if source
    )
