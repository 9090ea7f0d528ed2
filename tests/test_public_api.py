"""The public names: listed, documented, annotated, and cheap to import."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import longthread.graph
from longthread.tools import errors

NAMES = list(getattr(longthread.graph, "__all__", ()))
PROVIDERS = {"langchain_openai", "openai", "langchain_anthropic", "anthropic", "langchain_google_genai"}

# Runs in a fresh process: what importing the package and every public name opens, starts, writes and loads.
PROBE = """
import json, os, sys, time
seen = []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def is_ipv6_probe(event, args):  # langchain-core loads urllib3, which asks the system, not the network, for IPv6
    return event == "socket.__new__" or (event == "socket.bind" and args[1] == ("::1", 0))
def watch(event, args):
    if is_ipv6_probe(event, args):
        return
    if event.startswith(("socket.", "subprocess.", "sqlite3.", "os.mkdir", "os.rename", "os.remove", "shutil.")):
        seen.append([event, repr(args)])
    if event == "open" and isinstance(args[2], int) and args[2] & WRITES:
        seen.append([event, repr(args)])
sys.addaudithook(watch)
began = time.perf_counter()
import longthread.graph
package = time.perf_counter() - began
from longthread.graph import *
names = time.perf_counter() - began
print(json.dumps({"seconds": [package, names], "seen": seen, "modules": sorted(sys.modules)}))
"""


def public(name: str) -> Any:
    return getattr(longthread.graph, name)


def functions_of(name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The function of that name, or the public methods that a class of that name defines."""
    thing = public(name)
    if inspect.isfunction(thing):
        yield name, thing
    for attribute, value in vars(thing).items() if inspect.isclass(thing) else ():
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function) and not attribute.startswith("_"):
            yield f"{name}.{attribute}", function


@pytest.fixture(scope="module")
def fresh_import(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("home")
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run([sys.executable, "-B", "-c", PROBE], cwd=home, env=env, capture_output=True, check=True)
    assert list(Path(home).iterdir()) == []
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_public_names_are_listed_once_and_exist() -> None:
    assert NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert [name for name in NAMES if not hasattr(longthread.graph, name)] == []


def test_every_error_of_the_tree_is_public() -> None:
    tree = [name for name, thing in vars(errors).items() if inspect.isclass(thing)]
    assert "ContextRefused" in tree
    assert [name for name in tree if getattr(longthread.graph, name, None) is not getattr(errors, name)] == []
    assert set(tree) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_class_and_function_is_documented(name: str) -> None:
    thing = public(name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert vars(thing).get("__doc__") or thing.__doc__
        assert not str(thing.__doc__).startswith(f"{name}("), "a docstring that a dataclass made"
    assert [label for label, function in functions_of(name) if not inspect.getdoc(function)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_public_function_is_annotated_throughout(name: str) -> None:
    for label, function in functions_of(name):
        signature = inspect.signature(function)
        bare = [
            p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")
        ]
        assert bare == [], label
        assert signature.return_annotation is not signature.empty, label


def test_importing_the_package_loads_no_providers_package(fresh_import: dict[str, Any]) -> None:
    assert PROVIDERS & set(fresh_import["modules"]) == set()


def test_importing_the_package_touches_neither_network_nor_disk(
    fresh_import: dict[str, Any], record_property: Callable[[str, object], None]
) -> None:
    record_property("import_seconds", fresh_import["seconds"])
    assert fresh_import["seen"] == []
