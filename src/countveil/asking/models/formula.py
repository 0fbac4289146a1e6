"""The text of a formula -> its outcome, its predictors and the columns that they need.

Enters: a text such as "occupation = 'nurse' ~ age + C(gender)". Leaves: a `ModelFormula`. Must not
know: rows, channels. Conditions are written as in SQL and are read by our own parser. All else is
in the grammar of `formulaic`, whose factors are Python; only names of columns and the functions
listed here may occur in them.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from countveil.errors import MissingExtraError, QueryError, nearest

_NAME = r"(?:[^\W\d]\w*|`[^`]+`)"
_LITERAL = r"""(?:-?\d+(?:\.\d+)?|'(?:[^']|'')*'|"[^"]*"|(?i:true|false)\b)"""
_CONDITION = re.compile(
    rf"(?P<name>{_NAME})\s*(?:(?P<sign>==|=|!=|<>|<=|>=|<|>)\s*(?P<value>{_LITERAL})"
    rf"|(?P<rest>(?i:IS\s+(?:NOT\s+)?NULL\b|(?:NOT\s+)?IN\s*\(\s*{_LITERAL}"
    rf"(?:\s*,\s*{_LITERAL})*\s*\)|BETWEEN\s+{_LITERAL}\s+AND\s+{_LITERAL})))"
)
_TEXT = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`")
_SIGNS = {"==": "=", "!=": "<>"}
# What stands for a condition in the text that formulaic reads.
_PLACEHOLDER = "condition_{}_"

_FUNCTIONS = {"C", "I", "log", "log2", "log10", "log1p", "exp", "exp10", "sqrt", "abs", "Treatment"}
_MODULES = {
    "np": {
        "log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "square", "power",
        "minimum", "maximum", "floor", "ceil", "where", "sign",
    },
    "contr": {"treatment", "sum", "helmert", "diff", "poly", "SAS"},
}  # fmt: skip
_NODES = (
    ast.Expression, ast.Call, ast.Name, ast.Load, ast.Attribute, ast.Constant, ast.BinOp,
    ast.UnaryOp, ast.operator, ast.unaryop, ast.Compare, ast.cmpop, ast.keyword, ast.List,
    ast.Tuple,
)  # fmt: skip
_GRAMMAR = (
    "A formula has an outcome and predictors, such as \"occupation = 'nurse' ~ age + C(gender)\": "
    "columns, C(column) for categories, conditions as in SQL, log(column), column:column for "
    "products, column*column for both and their product."
)


@dataclass(frozen=True)
class ModelFormula:
    """What a model is about.

    `conditions` has the SQL of each condition, by the name that stands for it in `outcome` and
    `predictors`. Columns and conditions are those that each side names.
    """

    text: str
    outcome: str
    predictors: str
    conditions: dict[str, str]
    outcome_names: tuple[str, ...]
    predictor_names: tuple[str, ...]

    def readable(self, name: str) -> str:
        """The name of a coefficient, with its conditions as they were written."""
        for placeholder, condition in self.conditions.items():
            name = name.replace(placeholder, condition)
        return name


def formulaic_formula() -> Any:
    """The class of formulas, or what to install."""
    try:
        from formulaic import Formula
    except ImportError as error:
        raise MissingExtraError("formulaic, which reads formulas", "models") from error
    return Formula


def read_formula(text: str, columns: Sequence[str]) -> ModelFormula:
    """Read a formula about these columns."""
    replaced, conditions = _without_conditions(text, columns)
    sides = _split(replaced)
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise QueryError(f"The formula {text!r} needs one ~ between two sides. {_GRAMMAR}")
    outcome, predictors = (side.strip() for side in sides)
    known = [*columns, *conditions]
    return ModelFormula(
        text,
        outcome,
        predictors,
        conditions,
        _names(outcome, known, text),
        _names(predictors, known, text),
    )


def _without_conditions(text: str, columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The text with a name in the place of every condition, and their SQL."""
    conditions: dict[str, str] = {}
    parts, end = [], 0
    for match in _CONDITION.finditer(text):
        name = match["name"].strip("`")
        inside = any(
            quoted.start() < match.start() < quoted.end() - 1 for quoted in _TEXT.finditer(text)
        )
        if name not in columns or inside or match.start() < end:
            continue
        condition = _sql(name, match)
        new = _PLACEHOLDER.format(len(conditions) + 1)
        while new in columns:
            new += "_"
        placeholder = next((known for known, sql in conditions.items() if sql == condition), new)
        conditions[placeholder] = condition
        parts += [text[end : match.start()], placeholder]
        end = match.end()
    return "".join([*parts, text[end:]]), conditions


def _sql(name: str, match: re.Match[str]) -> str:
    """The condition as SQL; text in double quotes is text here."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name) is not None
    column = name if plain else '"' + name.replace('"', '""') + '"'
    if match["rest"] is not None:
        return f"{column} {_sql_text(match['rest'])}"
    sign = _SIGNS.get(match["sign"], match["sign"])
    return f"{column} {sign} {_sql_text(match['value'])}"


def _sql_text(text: str) -> str:
    def single(match: re.Match[str]) -> str:
        inner = match[0]
        if inner.startswith("'"):
            return inner
        return "'" + inner[1:-1].replace("'", "''") + "'"

    return _TEXT.sub(single, text)


def _split(text: str) -> list[str]:
    """The sides of the ~ signs that are not in text."""
    quoted = [(match.start(), match.end()) for match in _TEXT.finditer(text)]
    places = [
        place
        for place, letter in enumerate(text)
        if letter == "~" and not any(start < place < end for start, end in quoted)
    ]
    ends = [-1, *places, len(text)]
    return [text[start + 1 : end] for start, end in itertools.pairwise(ends)]


def _names(side: str, known: Sequence[str], text: str) -> tuple[str, ...]:
    """The columns and conditions that one side names."""
    unknown = _CONDITION.search(side)
    if unknown is not None and not _inside_call(side, unknown.start()):
        _known(unknown["name"].strip("`"), known)
    from formulaic.errors import FormulaicError

    formula = formulaic_formula()
    try:
        parsed: Any = formula(side)
        terms: Iterable[Any] = list(parsed)
        factors = [factor for term in terms for factor in term.factors]
    except (FormulaicError, SyntaxError, AttributeError, TypeError) as error:
        raise QueryError(f"The formula {text!r} cannot be read at {side!r}. {_GRAMMAR}") from error
    names: dict[str, None] = {}
    for factor in factors:
        if factor.eval_method.value == "lookup":
            names[_known(factor.expr, known)] = None
        elif factor.eval_method.value == "python":
            names.update(dict.fromkeys(_python_names(factor.expr, known, text)))
    return tuple(names)


def _inside_call(side: str, place: int) -> bool:
    """Whether a place is within brackets, where = may name an argument."""
    return side.count("(", 0, place) > side.count(")", 0, place)


def _known(name: str, known: Sequence[str]) -> str:
    if name not in known:
        hint = nearest(name, [each for each in known if not each.startswith("condition_")])
        raise QueryError(f"There is no column {name!r} in the release. {hint}")
    return name


def _python_names(expression: str, known: Sequence[str], text: str) -> Iterable[str]:
    """The columns in a Python factor, which may do nothing but compute."""
    # formulaic writes names in backticks so that Python cannot read them.
    plain = re.sub(r"`[^`]*`", "0", expression)
    quoted = [name.strip("`") for name in re.findall(r"`[^`]*`", expression)]
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError as error:
        raise QueryError(f"The formula {text!r} cannot be read at {expression!r}.") from error
    modules = [_checked(node, expression) for node in ast.walk(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in modules and node.id not in _FUNCTIONS:
            yield _known(node.id, known)
    for name in quoted:
        yield _known(name, known)


def _checked(node: ast.AST, expression: str) -> ast.AST | None:
    """Refuse what could do more than compute; gives the name of a module that a node is of."""
    if not isinstance(node, _NODES):
        raise QueryError(f"{expression!r} is not supported in a formula. {_GRAMMAR}")
    if not isinstance(node, ast.Attribute):
        return None
    module = node.value.id if isinstance(node.value, ast.Name) else ""
    if node.attr not in _MODULES.get(module, ()):
        raise QueryError(
            f"{module}.{node.attr} is not supported in a formula; np.log and the like are."
        )
    return node.value
