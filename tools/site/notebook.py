"""Run the notebook of the docs, keep what it shows in it, and write it as a page of the site.

`python -m tools.site.notebook` does both. Cells run one after the other in this process: a kernel
and nbconvert would be 40 more packages to install, and the notebook needs no magic. The page
is Markdown, so that the forge, a terminal and the site show it without them.
"""

import ast
import base64
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import fill
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTEBOOK = DOCS / "notebooks" / "first-steps.ipynb"
PAGE = DOCS / "first-steps.md"
IMAGES = DOCS / "images"
WIDEST = 118

Cell = dict[str, Any]


def execute(cells: list[Cell]) -> tuple[list[Cell], dict[str, Any]]:
    """The cells with what they show, and the names that they leave."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [dict(cell) for cell in cells]
    count = 0
    for cell in shown:
        if cell["cell_type"] == "code":
            count += 1
            cell["outputs"] = _outputs("".join(cell["source"]), names, count)
            cell["execution_count"] = count
    return shown, names


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(text)})
    if value is not None:
        facts = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
        outputs.append(facts | {"data": _displayed(value)})
    return outputs


def _displayed(value: Any) -> dict[str, Any]:
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=80, metadata={"Software": None})
        drawn = base64.b64encode(picture.getvalue()).decode("ascii")
        return {"image/png": drawn, "text/plain": ["a figure"]}
    return {"text/plain": lines(str(value))}


def lines(text: str) -> list[str]:
    """As notebooks keep text."""
    return text.splitlines(keepends=True)


def render(notebook: dict[str, Any]) -> str:
    """The notebook as Markdown; its pictures are files of `pictures`."""
    parts, drawn = [], 0
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../", "]("))
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                drawn += 1
                parts.append(f"![What the cell above draws](images/{PAGE.stem}-{drawn}.png)")
            else:
                text = "".join(output.get("text", data.get("text/plain")))
                parts.append(f"```text\n{_narrow(text)}\n```")
    return "\n\n".join(parts) + "\n"


def _narrow(text: str) -> str:
    """Lines that a terminal shows whole."""
    return "\n".join(
        line.rstrip() if len(line) <= WIDEST else fill(line, WIDEST, subsequent_indent="    ")
        for line in text.rstrip().splitlines()
    )


def pictures(notebook: dict[str, Any]) -> list[bytes]:
    """The pictures in it, in order."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    found = [output["data"].get("image/png") for output in outputs if "data" in output]
    return [base64.b64decode(picture) for picture in found if picture]


def main() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    notebook["cells"], _ = execute(notebook["cells"])
    NOTEBOOK.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(render(notebook), encoding="utf-8")
    for index, picture in enumerate(pictures(notebook), start=1):
        (IMAGES / f"{PAGE.stem}-{index}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
