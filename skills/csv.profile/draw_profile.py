"""Draws a profile: for each column how much is there, and where its numbers or most frequent values lie."""

from html import escape

ROW = 54
WIDTH = 760
NAME_WIDTH = 200
BAR_WIDTH = 180
MAX_DRAWN = 40


def draw(name: str, profile: dict) -> str:
    columns = profile["columns"][:MAX_DRAWN]
    height = 70 + ROW * len(columns)
    left_out = len(profile["columns"]) - len(columns)
    more = f" (the first {len(columns)} of {len(columns) + left_out} columns)" if left_out else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        text(20, 28, f"{short(name, 60)}: {profile['rows']} rows{more}", size=16),
    ]
    for index, column in enumerate(columns):
        parts += draw_column(column, 50 + ROW * index, profile["rows"])
    return "\n".join([*parts, "</svg>", ""])


def draw_column(column: dict, top: int, rows: int) -> list[str]:
    present = rows - column["missing"]
    share = present / rows if rows else 0
    percent = f"{share * 100:.0f} % present"
    left = NAME_WIDTH + 20
    parts = [
        text(20, top + 18, short(column["name"], 26)),
        text(20, top + 34, f"{column['type']}, {column['distinct']} distinct", color="#666"),
        f'<rect x="{left}" y="{top + 8}" width="{BAR_WIDTH}" height="14" fill="#eee"/>',
        f'<rect x="{left}" y="{top + 8}" width="{BAR_WIDTH * share:.1f}" height="14" fill="#4a7"/>',
        text(left, top + 36, percent, color="#666"),
    ]
    right = left + BAR_WIDTH + 30
    if column["quantiles"]:
        return parts + draw_range(column, right, top)
    return parts + draw_top(column, right, top, present)


def draw_range(column: dict, left: int, top: int) -> list[str]:
    """From the least to the most, with the middle half as a box."""
    low, high = column["min"], column["max"]
    width = WIDTH - left - 20
    # Halves, as the difference of large numbers may be none.
    at = lambda value: left + width * ((value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5)
    box = [at(column["quantiles"][name]) for name in ("p25", "p50", "p75")]
    return [
        f'<line x1="{left}" y1="{top + 15}" x2="{left + width}" y2="{top + 15}" stroke="#999"/>',
        f'<rect x="{box[0]:.1f}" y="{top + 8}" width="{max(box[2] - box[0], 1):.1f}" height="14" fill="#69c"/>',
        f'<line x1="{box[1]:.1f}" y1="{top + 6}" x2="{box[1]:.1f}" y2="{top + 24}" stroke="#036" stroke-width="2"/>',
        text(left, top + 36, f"{low} to {high}, half of them {column['quantiles']['p50']} or less", color="#666"),
    ]


def draw_top(column: dict, left: int, top: int, present: int) -> list[str]:
    parts, x = [], float(left)
    width = WIDTH - left - 20
    for index, entry in enumerate(column["top"]):
        part = width * entry["count"] / present
        parts.append(f'<rect x="{x:.1f}" y="{top + 8}" width="{part:.1f}" height="14" fill="#c96" opacity="{1 - index * 0.17:.2f}"/>')
        x += part
    words = ", ".join(f"{short(entry['value'], 16)} ({entry['count']})" for entry in column["top"][:3])
    return [*parts, text(left, top + 36, words, color="#666")]


def text(x: int, y: int, words: str, size: int = 12, color: str = "#000") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}">{clean(words)}</text>'


def short(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def clean(words: str) -> str:
    """XML takes no control characters, whatever a cell holds."""
    return escape("".join(char if char.isprintable() else " " for char in words))
