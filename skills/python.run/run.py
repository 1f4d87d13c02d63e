"""Runs the code of the input as a program of its own, and tells how it ended."""

import json
import os
import subprocess
import sys
import tempfile

MAX_BYTES = 256 * 1024
OUTPUT = "/workspace/artifacts/output.json"


def main() -> int:
    with open(os.environ["SECBOX_INPUT"], encoding="utf-8") as file:
        inputs = json.load(file)
    # Our own variables are not the program's business.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SECBOX_")}
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(inputs["stdin"].encode())
        stdin.seek(0)
        # A file, so that a traceback shows its lines; where nothing of the project's can be imported by accident.
        program = os.path.join(tempfile.mkdtemp(), "main.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(inputs["code"])
        command = [sys.executable, program, *inputs["args"]]
        try:
            ended = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, check=False)
        except (OSError, ValueError) as error:
            print(f"The program cannot be started: {error}", file=sys.stderr)
            return 2
        output = {"exit_code": ended.returncode if ended.returncode >= 0 else 128 - ended.returncode}
        for name, file in (("stdout", stdout), ("stderr", stderr)):
            output[name], output[f"{name}_truncated"] = first_of(file)
    with open(OUTPUT, "w", encoding="utf-8") as file:
        json.dump(output, file)
    return 0


def first_of(file) -> tuple[str, bool]:
    file.seek(0)
    start = file.read(MAX_BYTES + 1)
    return start[:MAX_BYTES].decode("utf-8", "replace"), len(start) > MAX_BYTES


if __name__ == "__main__":
    sys.exit(main())
