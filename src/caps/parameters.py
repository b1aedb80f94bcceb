"""What scikit-learn asks of an estimator, without importing it.

`sklearn.base` loads scipy.stats and takes more than a second, which was most of what a fit of the
rows took; `clone`, pipelines, searches and `check_is_fitted` need no more than this.
"""

import inspect
from typing import TYPE_CHECKING, Any, Self

from caps.errors import check_known

if TYPE_CHECKING:
    from sklearn.utils import Tags

WIDTH = 80  # of a line of a representation


class Parameters:
    """The arguments of `__init__` are attributes of the same names."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        return {each.name: each.default for each in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; none of them has parameters of its own."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Replace parameters; they count from the next fit on."""
        known = self._defaults()
        for name in params:
            check_known("parameter", name, known)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name])
        ]
        called = type(self).__name__
        line = f"{called}({', '.join(shown)})"
        if len(line) <= WIDTH:
            return line
        between = ",\n" + " " * len(f"{called}(")
        return f"{called}({between.join(shown)})"

    def __sklearn_tags__(self) -> "Tags":
        from sklearn.utils import Tags, TargetTags  # a second that nobody but it asks for

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))
