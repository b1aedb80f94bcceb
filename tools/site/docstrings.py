"""How docstrings are read for the reference."""

import re
from typing import Any

import griffe

FIRST_EXAMPLE = re.compile(r"^(?=>>> )", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Examples become sections; fields and constructors, which a signature tells, may be silent."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            # Without numpydoc's heading `>>>` would be a quotation of Markdown.
            text = FIRST_EXAMPLE.sub("Examples\n--------\n", obj.docstring.value, count=1)
            obj.docstring.value = text
        elif not (obj.parent and obj.parent.is_class and (is_field(obj) or obj.is_special)):
            obj.docstring = griffe.Docstring("", parent=obj)  # else it would be left out

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """The root of a package offers what it imports from its modules."""
        for module in pkg.modules.values():
            if "__getattr__" in module.members:
                found = module.imports.items()
                module.exports = [name for name, at in found if at.startswith(f"{module.path}.")]


def is_field(obj: griffe.Object) -> bool:
    return obj.is_attribute and "property" not in obj.labels
