"""Looks for a pattern in the files of the input with grep."""

import json
import os
import subprocess
import sys

MAX_LINE = 1000
OUTPUT = "/workspace/artifacts/output.json"


def main() -> int:
    with open(os.environ["SECBOX_INPUT"], encoding="utf-8") as file:
        inputs = json.load(file)
    most = inputs["max_matches"]
    output = {"matches": [], "files_searched": 0, "binary_files": [], "truncated": False}
    for searched in inputs["files"]:
        if is_binary(searched["path"]):
            output["binary_files"].append(searched["name"])
            continue
        # One more than is wanted, to know whether there is more.
        wanted = most - len(output["matches"]) + 1
        lines, problem = grep(inputs, searched["path"], wanted)
        if problem is not None:
            print(problem, file=sys.stderr)
            return 2
        output["files_searched"] += 1
        for number, text in lines:
            if len(output["matches"]) == most:
                output["truncated"] = True
                break
            output["matches"].append({"file": searched["name"], "line": number, "text": text[:MAX_LINE]})
        if output["truncated"]:
            break
    with open(OUTPUT, "w", encoding="utf-8") as file:
        json.dump(output, file)
    return 0


def grep(inputs: dict, path: str, wanted: int) -> tuple[list[tuple[int, str]], str | None]:
    command = ["grep", "--line-number", "--text", f"--max-count={wanted}"]
    command.append("--fixed-strings" if inputs["fixed"] else "--extended-regexp")
    if inputs["ignore_case"]:
        command.append("--ignore-case")
    # -e and --, as neither a pattern nor a file is an option.
    command += ["-e", inputs["pattern"], "--", path]
    try:
        ended = subprocess.run(command, capture_output=True, check=False)
    except ValueError as error:
        return [], f"The pattern cannot be used: {error}"
    # grep: 0 found, 1 nothing found, 2 trouble.
    if ended.returncode > 1:
        return [], f"grep refuses the pattern: {ended.stderr.decode('utf-8', 'replace').strip()}"
    lines = []
    for line in ended.stdout.split(b"\n")[:-1]:
        number, _, text = line.partition(b":")
        lines.append((int(number), text.decode("utf-8", "replace").rstrip("\r")))
    return lines, None


def is_binary(path: str) -> bool:
    with open(path, "rb") as file:
        return b"\0" in file.read(8192)


if __name__ == "__main__":
    sys.exit(main())
