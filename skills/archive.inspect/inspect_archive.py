"""Lists what is in an archive, and warns of what is dangerous in it. Nothing is unpacked to a disk."""

import json
import lzma
import os
import stat
import sys
import tarfile
import zipfile
import zlib

OUTPUT = "/workspace/artifacts/output.json"
# What is read of a compressed archive at most, as a bomb would never end.
MAX_UNPACKED = 256 * 1024 * 1024
MAX_READ_ENTRIES = 100_000
# Honest archives of text reach about 20.
BOMB_RATIO = 100
MAX_WARNINGS = 100
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, OSError, ValueError)
TAR_MODES = {b"\x1f\x8b": ("tar.gz", "r|gz"), b"BZh": ("tar.bz2", "r|bz2"), b"\xfd7zXZ\0": ("tar.xz", "r|xz")}


class Problem(Exception):
    """The file is not one that can be looked into; the message says why."""


class Report:
    def __init__(self, kind: str, archive_bytes: int, most: int) -> None:
        self.kind = kind
        self.archive_bytes = archive_bytes
        self.most = most
        self.entries: list[dict] = []
        self.count = 0
        self.unpacked = 0
        self.complete = True
        self.warnings: list[dict] = []
        self.seen: set[str] = set()

    def warn(self, code: str, message: str, path: str | None = None) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append({"code": code, "path": path, "message": message})

    def add(self, path: str, kind: str, size: int, link: str | None = None) -> bool:
        """False when no more is to be read."""
        self.count += 1
        self.unpacked += size
        if len(self.entries) < self.most:
            self.entries.append({"path": path, "kind": kind, "size": size, "link": link})
        self.check(path, kind, link)
        if self.count >= MAX_READ_ENTRIES:
            self.warn("too_many_entries", f"There are {MAX_READ_ENTRIES} entries or more; the rest was not read.")
            self.complete = False
        return self.complete

    def check(self, path: str, kind: str, link: str | None) -> None:
        parts = path.replace("\\", "/").split("/")
        if path.startswith(("/", "\\")) or path[1:2] == ":":
            self.warn("absolute_path", "The path is absolute: unpacking could write anywhere.", path)
        if ".." in parts:
            self.warn("outside_path", "The path leads out of the folder it is unpacked to.", path)
        if any(not char.isprintable() for char in path):
            self.warn("odd_name", "The name holds characters that cannot be seen.", path)
        if path in self.seen:
            self.warn("duplicate", "The path is there twice: the second one replaces the first.", path)
        elif len(self.seen) < MAX_READ_ENTRIES:
            self.seen.add(path)
        if kind in ("symlink", "hardlink"):
            self.warn("link", f"It is a link to {link!r}.", path)
        if kind == "other":
            self.warn("device", "It is neither a file nor a folder nor a link.", path)

    def told(self) -> dict:
        ratio = round(self.unpacked / self.archive_bytes, 2) if self.archive_bytes else 0
        if ratio > BOMB_RATIO:
            self.warn("bomb_ratio", f"It unpacks to {ratio} times its size: it may be made to fill a disk.")
        return {
            "format": self.kind,
            "entries": self.entries,
            "entry_count": self.count,
            "archive_bytes": self.archive_bytes,
            "unpacked_bytes": self.unpacked,
            "ratio": ratio,
            "complete": self.complete,
            "warnings": self.warnings,
        }


def main() -> int:
    with open(os.environ["SECBOX_INPUT"], encoding="utf-8") as file:
        inputs = json.load(file)
    try:
        output = look_into(inputs["file"]["path"], inputs["max_entries"])
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 2
    with open(OUTPUT, "w", encoding="utf-8") as file:
        json.dump(output, file)
    return 0


def look_into(path: str, most: int) -> dict:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start = file.read(512)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return read_zip(path, Report("zip", size, most)).told()
    for magic, (kind, mode) in TAR_MODES.items():
        if start.startswith(magic):
            return read_tar(path, mode, Report(kind, size, most)).told()
    if start[257:262] == b"ustar":
        return read_tar(path, "r|", Report("tar", size, most)).told()
    raise Problem("The file is no archive that is known here: neither ZIP nor TAR, nor a TAR packed with gzip, bzip2 or xz.")


def read_zip(path: str, report: Report) -> Report:
    """A ZIP has a list of its own, so that nothing needs to be unpacked; the sizes are what that list claims."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                mode = entry.external_attr >> 16
                kind = "folder" if entry.is_dir() else "symlink" if stat.S_ISLNK(mode) else "file"
                link = None
                if kind == "symlink" and entry.file_size <= 4096 and not entry.flag_bits & 1:
                    link = archive.read(entry).decode("utf-8", "replace")
                if entry.flag_bits & 1:
                    report.warn("encrypted", "It is encrypted.", entry.filename)
                if not report.add(entry.filename, kind, entry.file_size, link):
                    break
    except DAMAGE as error:
        damaged(report, error)
    return report


def read_tar(path: str, mode: str, report: Report) -> Report:
    """A TAR has no list, so that all of it is read, as far as the limit."""
    kinds = ((tarfile.TarInfo.isreg, "file"), (tarfile.TarInfo.isdir, "folder"), (tarfile.TarInfo.issym, "symlink"), (tarfile.TarInfo.islnk, "hardlink"))
    try:
        with tarfile.open(path, mode) as archive:
            for entry in archive:
                kind = next((name for test, name in kinds if test(entry)), "other")
                link = entry.linkname if kind in ("symlink", "hardlink") else None
                if not report.add(entry.name, kind, entry.size if kind == "file" else 0, link):
                    break
                if report.unpacked > MAX_UNPACKED:
                    report.warn("too_large", f"It unpacks to more than {MAX_UNPACKED} bytes; the rest was not read.")
                    report.complete = False
                    break
                # Else it keeps every entry it has seen.
                archive.members = []
    except DAMAGE as error:
        damaged(report, error)
    return report


def damaged(report: Report, error: Exception) -> None:
    if report.count == 0:
        raise Problem(f"The archive cannot be read: {error}.") from error
    report.complete = False
    report.warn("damaged", f"The archive cannot be read to its end: {error}.")


if __name__ == "__main__":
    sys.exit(main())
