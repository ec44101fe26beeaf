"""Compile C text to a library, once: it is kept beside compiled programs, under a digest of itself.

Key of an entry are the text, the flags, the compiler (its file and the variables of the environment
that it reads) and the machine.  An entry is sealed as those of programs are, so one that is damaged
or forged is not loaded.  Text that includes files of the user, or flags that name folders or
libraries, are compiled each time: what these hold is not part of the key.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...config import current as current_config
from ...engines.xla.compile_cache.entries import BrokenEntry
from ...engines.xla.compile_cache.failures import report
from ...engines.xla.compile_cache.keys import processor
from ...engines.xla.compile_cache.programs import limit, store_in_use
from ...engines.xla.compile_cache.store import DIRECTORY_FAILURES
from ...util.messages import message

_COMPILERS: Final = ("cc", "gcc", "clang")
_ALWAYS: Final = ("-std=c11", "-shared", "-fPIC")
_LIBRARIES: Final = ("-lm",)
_VARIABLES: Final = ("CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX")
_READS_FILES: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)
_NAMES_FILES: Final = ("-I", "-L", "-l", "-i", "-include", "-B", "@", "--", "-Wl,", "-specs")
_MOST_LINES: Final = 30


def find_compiler(where: str, compiler: str | None) -> str:
    """The path of the C compiler.

    Raises:
        FileNotFoundError: there is none.
    """
    for name in _COMPILERS if compiler is None else (compiler,):
        found = shutil.which(name)
        if found is not None:
            return found
    raise FileNotFoundError(
        message(
            f"{where}, argument compiler",
            given="no C compiler on the search path" if compiler is None else repr(compiler),
            expected=f"one of {', '.join(_COMPILERS)}, or the path of another C compiler",
            fix="Install one (Debian: apt install gcc), or pass its path as compiler=.",
        )
    )


def library_key(text: str, flags: Sequence[str], compiler: str) -> str:
    """A digest of all that decides what the library is."""
    from hashlib import sha256

    facts = os.stat(compiler)
    surroundings = [os.environ.get(name) for name in _VARIABLES]
    machine = platform.system(), platform.machine()
    identity = (os.path.realpath(compiler), facts.st_size, facts.st_mtime_ns)
    key = repr(("foreign", text, tuple(flags), identity, surroundings, machine, processor()))
    return sha256(key.encode()).hexdigest()


def load_library(where: str, text: str, flags: Sequence[str], compiler: str) -> tuple[Any, str]:
    """The library of a C text, and a digest of what it is.

    Raises:
        ValueError: the text does not compile, or something that it calls is not defined.
    """
    from hashlib import sha256

    key = library_key(text, flags, compiler)
    if _is_whole(text, flags):
        return _kept_library(where, key, text, tuple(flags), compiler), key
    made = _compile(where, text, flags, compiler)
    return _loaded(made), sha256(made).hexdigest()


def _is_whole(text: str, flags: Sequence[str]) -> bool:
    """Whether the key tells everything: no further files of the user are read."""
    return not _READS_FILES.search(text) and not any([f.startswith(_NAMES_FILES) for f in flags])


@cache
def _kept_library(where: str, key: str, text: str, flags: Sequence[str], compiler: str) -> Any:
    settings = current_config()
    store = store_in_use(settings)
    if store is None:
        return _loaded(_compile(where, text, flags, compiler))
    try:
        kept = store.get(key)
        if kept is not None:
            return _loaded(kept)
    except (OSError, BrokenEntry) as error:
        report("a compiled foreign function is not used, and removed", error)
        store.remove(key)
    made = _compile(where, text, flags, compiler)
    try:
        store.put(key, made, limit(settings))
    except DIRECTORY_FAILURES as error:
        report("a compiled foreign function cannot be kept", error)
    return _loaded(made)


def _loaded(library: bytes) -> Any:
    """A library from its bytes; its file is in a folder of the user's own, and goes at once."""
    with tempfile.TemporaryDirectory(prefix="morphax-foreign-") as folder:
        path = Path(folder) / "library.so"
        path.write_bytes(library)
        return ctypes.CDLL(str(path))


def _compile(where: str, text: str, flags: Sequence[str], compiler: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="morphax-foreign-") as folder:
        source, made = Path(folder) / "source.c", Path(folder) / "library.so"
        source.write_text(text, encoding="utf-8")
        undefined = [] if platform.system() == "Darwin" else ["-Wl,-z,defs"]
        command = [compiler, *_ALWAYS, *flags, str(source), "-o", str(made)]
        command += [*undefined, *[f for f in flags if f.startswith(("-l", "-L"))], *_LIBRARIES]
        # Messages are read below, and shown: not in the language of the user.
        environment = os.environ | {"LC_ALL": "C"}
        result = subprocess.run(
            command, capture_output=True, text=True, env=environment, errors="replace"
        )
        if result.returncode == 0:
            return made.read_bytes()
    raise _failed(where, command, result.stderr.replace(str(source), "source.c"))


def _failed(where: str, command: Sequence[str], output: str) -> ValueError:
    lines = output.strip().splitlines()
    shown = "\n    ".join([*lines[:_MOST_LINES], *(["…"] if len(lines) > _MOST_LINES else [])])
    missing = re.findall(r"undefined (?:reference to|symbol:?) [`'\"]?_?(\w+)", output)
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        expected = f"definitions of all that is called; missing is {names}"
        fix = f"Define {names} in the source, or name its library in flags: '-lname'."
    elif "prototype:" in output:
        expected = "a prototype that is that of the definition"
        fix = "Write the types in `prototype` as the source has them."
    else:
        expected, fix = "C that compiles", "Correct the source at the lines above."
    return ValueError(
        message(
            f"{where}, compiling the source with {Path(command[0]).name}",
            given=f"the compiler said\n    {shown}",
            expected=expected,
            fix=fix,
        )
    )
