"""Tells what is in the columns of a CSV file, and draws it."""

import csv
import json
import math
import os
import sys
from array import array
from collections import Counter
from datetime import date, datetime

from draw_profile import draw

ARTIFACTS = "/workspace/artifacts"
MAX_COLUMNS = 500
MAX_CELL = 131_072
# Past this many different values of a column only that there are more is told.
MAX_DISTINCT = 10_000
QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}
MISSING = {"", "na", "n/a", "null", "none", "nan"}
BOOLEANS = {"true", "false", "yes", "no"}


class Problem(Exception):
    """The file is not one that can be profiled; the message says why."""


def main() -> int:
    with open(os.environ["SECBOX_INPUT"], encoding="utf-8") as file:
        inputs = json.load(file)
    try:
        output = profile(inputs)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2
    with open(f"{ARTIFACTS}/{output['chart']}", "w", encoding="utf-8") as file:
        file.write(draw(inputs["file"]["name"], output))
    with open(f"{ARTIFACTS}/output.json", "w", encoding="utf-8") as file:
        json.dump(output, file)
    return 0


def profile(inputs: dict) -> dict:
    csv.field_size_limit(MAX_CELL)
    try:
        with open(inputs["file"]["path"], encoding="utf-8-sig", newline="") as file:
            delimiter = inputs.get("delimiter") or find_delimiter(file)
            rows = csv.reader(file, delimiter=delimiter)
            header = next(rows, None)
            if not header:
                raise Problem("The file is empty: it needs a line with the names of its columns.")
            if len(header) > MAX_COLUMNS:
                raise Problem(f"The file has {len(header)} columns; at most {MAX_COLUMNS} can be profiled.")
            columns = [Column(name.strip() or f"column {index}") for index, name in enumerate(header, 1)]
            count, ragged, truncated = 0, 0, False
            for row in rows:
                if not row:
                    continue
                if count == inputs["max_rows"]:
                    truncated = True
                    break
                count += 1
                ragged += len(row) != len(columns)
                for index, column in enumerate(columns):
                    column.add(row[index] if index < len(row) else "")
    except UnicodeDecodeError as error:
        raise Problem(f"The file is not UTF-8 (byte {error.start}).") from error
    except csv.Error as error:
        raise Problem(f"The file is not CSV: {error}.") from error
    return {
        "rows": count,
        "truncated": truncated,
        "delimiter": delimiter,
        "ragged_rows": ragged,
        "columns": [column.told() for column in columns],
        "chart": "profile.svg",
    }


def find_delimiter(file) -> str:
    """The one that the header has most of; a comma where it has none."""
    header = file.readline(MAX_CELL)
    file.seek(0)
    return max(",;\t|", key=header.count)


class Column:
    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = 0
        # A third of what a list of them takes.
        self.numbers = array("d")
        self.values: Counter[str] = Counter()
        self.is_exact = True
        self.kinds: Counter[str] = Counter()
        self.first = self.last = None

    def add(self, cell: str) -> None:
        text = cell.strip()
        if text.lower() in MISSING:
            self.missing += 1
            return
        kind = kind_of(text)
        self.kinds[kind] += 1
        if kind in ("integer", "number"):
            self.numbers.append(float(text))
        shown = text[:200]
        self.first = shown if self.first is None else min(self.first, shown)
        self.last = shown if self.last is None else max(self.last, shown)
        if shown in self.values or len(self.values) < MAX_DISTINCT:
            self.values[shown] += 1
        else:
            self.is_exact = False

    def type(self) -> str:
        kinds = set(self.kinds)
        if not kinds:
            return "empty"
        if kinds <= {"integer", "number"}:
            return "integer" if kinds == {"integer"} else "number"
        return kinds.pop() if len(kinds) == 1 else "text"

    def told(self) -> dict:
        kind = self.type()
        numbers = sorted(self.numbers) if kind in ("integer", "number") else []
        # Of equally many the one that comes first in the alphabet, so that the same file gives the same answer.
        top = sorted(self.values.items(), key=lambda item: (-item[1], item[0]))[:5]
        return {
            "name": self.name,
            "type": kind,
            "missing": self.missing,
            "distinct": len(self.values),
            "distinct_is_exact": self.is_exact,
            "min": whole(numbers[0]) if numbers else self.first,
            "max": whole(numbers[-1]) if numbers else self.last,
            "mean": round(mean(numbers), 6) if numbers else None,
            "quantiles": {name: quantile(numbers, at) for name, at in QUANTILES.items()} if numbers else None,
            "top": [{"value": value, "count": count} for value, count in top],
        }


def kind_of(text: str) -> str:
    if text.lower() in BOOLEANS:
        return "boolean"
    # What Python takes for numbers beside these (1_000, infinity) nobody means in a table.
    if text.replace("_", "x").lstrip("+-")[:1].isdigit() or text.lstrip("+-")[:1] == ".":
        try:
            number = float(text)
        except ValueError:
            return "date" if is_date(text) else "text"
        if abs(number) != float("inf") and "_" not in text:
            return "integer" if text.lstrip("+-").isdigit() else "number"
    return "text"


def is_date(text: str) -> bool:
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            read(text)
            return True
        except ValueError:
            continue
    return False


def mean(numbers: list[float]) -> float:
    """By their parts, as the sum of large numbers may be none."""
    return math.fsum(number / len(numbers) for number in numbers)


def quantile(numbers: list[float], at: float) -> float:
    """Between the two nearest, in proportion; their difference may be no number."""
    place = at * (len(numbers) - 1)
    below = int(place)
    above = min(below + 1, len(numbers) - 1)
    part = place - below
    return whole(round(numbers[below] * (1 - part) + numbers[above] * part, 6))


def whole(number: float) -> float | int:
    return int(number) if number == int(number) and abs(number) < 2**53 else number


if __name__ == "__main__":
    sys.exit(main())
