"""What is declared, what lies in the folders and what a wheel holds are the same."""

import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import copytree, ignore_patterns
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("graph", "nodes", "tools")
DATA = ROOT / "graph" / "demo" / "project"
CACHES = ("__pycache__", ".pytest_cache")
BUILD = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"


def shipped_files() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
    return [path.relative_to(ROOT) for path in found if not set(CACHES) & set(path.parts)]


def code_folders() -> set[Path]:
    return {path.parent for path in shipped_files() if path.suffix == ".py" and DATA not in (ROOT / path).parents}


def declared() -> dict[str, str]:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert sorted(setuptools["packages"]) == sorted(setuptools["package-dir"])
    return dict(setuptools["package-dir"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in FOLDERS:
        copytree(ROOT / folder, source / folder, ignore=ignore_patterns(*CACHES))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-c", BUILD, out], cwd=source, check=True, capture_output=True, timeout=100)
    return ZipFile(next(out.glob("longthread-*.whl")))


def test_every_folder_with_code_is_a_declared_package_and_the_other_way_round() -> None:
    assert declared() == {f"longthread.{'.'.join(folder.parts)}": folder.as_posix() for folder in code_folders()}


def test_every_folder_with_code_has_an_init_file() -> None:
    assert [folder for folder in code_folders() if not (ROOT / folder / "__init__.py").is_file()] == []


def test_a_wheel_holds_every_file_of_the_folders_and_nothing_else(wheel: ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == {f"longthread/{path.as_posix()}" for path in shipped_files()}


def test_a_wheel_is_typed_licensed_and_has_the_command(wheel: ZipFile) -> None:
    assert {f"longthread/{folder}/py.typed" for folder in FOLDERS} <= set(wheel.namelist())
    [info] = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert b"The longthread authors" in wheel.read(f"{info}/licenses/LICENSE")
    assert b"longthread = longthread.graph.cli.main:main" in wheel.read(f"{info}/entry_points.txt")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_links_for_type_checkers_lead_to_the_folders(folder: str) -> None:
    link = ROOT / ".namespace" / "longthread" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("../..") / folder


def test_no_test_file_shares_its_name_with_another() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))
    assert "__init__.py" not in names
