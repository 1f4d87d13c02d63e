"""Draws columns of a CSV file as a PNG."""

import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

ARTIFACTS = "/workspace/artifacts"
CHART = "chart.png"
DPI = 100
# A dollar in a name is a dollar.
plt.rcParams["text.parse_math"] = False
MAX_ROWS = 1_000_000


class Problem(Exception):
    """The chart cannot be drawn; the message says why."""


def main() -> int:
    with open(os.environ["SECBOX_INPUT"], encoding="utf-8") as file:
        inputs = json.load(file)
    try:
        table = read_table(inputs["file"]["path"])
        series = numbers_of(table, inputs["y"])
        draw(inputs, table, series)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2
    output = {
        "chart": CHART,
        "width": inputs["width"],
        "height": inputs["height"],
        "rows": len(table),
        "series": [told(name, values) for name, values in series.items()],
    }
    with open(f"{ARTIFACTS}/output.json", "w", encoding="utf-8") as file:
        json.dump(output, file)
    return 0


def read_table(path: str) -> pd.DataFrame:
    try:
        return pd.read_csv(path, nrows=MAX_ROWS, encoding="utf-8-sig")
    except (ValueError, pd.errors.ParserError) as error:
        raise Problem(f"The file is not CSV in UTF-8 with a header line: {error}.") from error


def numbers_of(table: pd.DataFrame, names: list[str]) -> dict[str, pd.Series]:
    series = {}
    for name in names:
        values = finite(column_of(table, name))
        if values.notna().sum() == 0:
            raise Problem(f"The column {name!r} holds no numbers.")
        series[name] = values
    return series


def finite(column: pd.Series) -> pd.Series:
    """Numbers that can be drawn, and told as JSON: neither words nor infinity."""
    return pd.to_numeric(column, errors="coerce").replace([np.inf, -np.inf], np.nan)


def column_of(table: pd.DataFrame, name: str) -> pd.Series:
    if name not in table.columns:
        there = ", ".join(repr(str(column)) for column in table.columns[:20])
        raise Problem(f"There is no column {name!r}. There are: {there}.")
    return table[name]


def draw(inputs: dict, table: pd.DataFrame, series: dict[str, pd.Series]) -> None:
    figure, axes = plt.subplots(figsize=(inputs["width"] / DPI, inputs["height"] / DPI), dpi=DPI)
    kind = inputs["kind"]
    if kind == "histogram":
        axes.hist([values.dropna() for values in series.values()], bins=30, label=list(series))
        axes.set_ylabel("rows")
    else:
        along = column_of(table, inputs["x"]) if "x" in inputs else pd.Series(range(1, len(table) + 1))
        positions = finite(along)
        has_words = bool(positions.isna().any())
        places = pd.Series(range(len(table))) if has_words else positions
        for index, (name, values) in enumerate(series.items()):
            if kind == "line":
                axes.plot(places, values, label=name)
            elif kind == "scatter":
                axes.scatter(places, values, label=name, s=12)
            else:
                width = 0.8 / len(series)
                axes.bar(places + (index - (len(series) - 1) / 2) * width, values, width=width, label=name)
        if has_words:
            label_some(axes, along)
        axes.set_xlabel(inputs.get("x", "row"))
    axes.set_title(inputs["title"])
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    # Without what would differ between two runs: the same input gives the same bytes.
    figure.savefig(f"{ARTIFACTS}/{CHART}", metadata={"Software": None})


def label_some(axes, along: pd.Series) -> None:
    """As many words as can be read below each other."""
    step = max(1, len(along) // 20)
    shown = range(0, len(along), step)
    axes.set_xticks(list(shown), [str(along[index])[:20] for index in shown], rotation=45, ha="right")


def told(name: str, values: pd.Series) -> dict:
    return {
        "column": name,
        "points": int(values.notna().sum()),
        "min": float(values.min()),
        "max": float(values.max()),
    }


if __name__ == "__main__":
    sys.exit(main())
