"""The image: named by its content, built once, without any network."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.sandbox.base import SandboxAway, SandboxFailure
from orchestrator.sandbox.containers import image, wheels
from orchestrator.sandbox.containers.daemon import connect
from orchestrator.sandbox.containers.wheels import Interpreter
from tests.support.docker_parts import base_or_skip, docker_or_skip

# One after the other: each looks at what images there are.
pytestmark = pytest.mark.xdist_group("docker-images")


def test_building_twice_builds_once() -> None:
    base, folder = base_or_skip()
    daemon, said = docker_or_skip(), []
    first, _ = image.build(daemon, base=base, folder=folder, fetch=False)
    same = {"label": f"{image.LABEL_CONTENT}={first.content}"}
    before = {one["Id"] for one in daemon.client.images(all=True, filters=same)}
    second, fresh = image.build(daemon, base=base, folder=folder, fetch=False, say=said.append)
    assert (second, fresh, said) == (first, False, [])
    assert {one["Id"] for one in daemon.client.images(all=True, filters=same)} == before
    assert first.tag == f"slowwave-sandbox:{first.content}"
    assert (first.base, first.python[:4]) == (base, "3.11")
    assert image.find(daemon, first.tag) == first
    assert image.find(daemon).content == first.content


def test_other_code_is_another_image_and_the_old_one_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, folder = base_or_skip()
    daemon = docker_or_skip()
    old, _ = image.build(daemon, base=base, folder=folder, fetch=False)
    monkeypatch.setattr(image, "code_fingerprint", lambda: "0123456789abcdef")
    with pytest.raises(SandboxFailure, match="no image for this version") as failure:
        image.find(daemon)
    assert failure.value.mend == "Build it: slowwave sandbox build"
    with pytest.raises(SandboxFailure, match="built from other agent code"):
        image.find(daemon, old.tag)
    new, fresh = image.build(daemon, base=base, folder=folder, fetch=False)
    try:
        assert fresh
        assert new.content != old.content
        assert image.find(daemon) == image.find(daemon, new.tag)
    finally:
        daemon.client.remove_image(new.id, force=True)


def test_an_image_built_on_top_of_ours_is_not_ours() -> None:
    daemon = docker_or_skip()
    ours = image.find(daemon)
    name = "slowwave-test-child:1"
    text = f"FROM {ours.tag}\nLABEL more=1\n".encode()
    options = {"network_mode": "none", "rm": True, "decode": True}
    list(daemon.client.build(fileobj=io.BytesIO(text), tag=name, **options))
    try:
        with pytest.raises(SandboxFailure, match="none that `slowwave sandbox build` has made"):
            image.find(daemon, name)
        assert image.find(daemon) == ours
    finally:
        daemon.client.remove_image(name, force=True)


def test_an_image_without_our_labels_is_not_ours() -> None:
    base, _ = base_or_skip()
    with pytest.raises(SandboxFailure, match="none that `slowwave sandbox build` has made"):
        image.find(docker_or_skip(), base)


def test_the_code_that_counts_is_all_that_goes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = image.code_fingerprint.__wrapped__
    found = {fresh()}
    sources = image.agent_sources(image.MODULES)
    for name in sources:
        changed = {**sources, name: sources[name] + b"\n# changed\n"}
        monkeypatch.setattr(image, "agent_sources", lambda _, changed=changed: changed)
        found.add(fresh())
    monkeypatch.setattr(image, "agent_sources", lambda _: sources)
    assert fresh() in found
    monkeypatch.setattr(wheels, "pins", lambda: {"jinja2": "1", "markupsafe": "1"})
    found.add(fresh())
    assert len(found) == 1 + len(image.MODULES) + 1


def test_an_image_that_is_not_there_is_said_with_the_mend() -> None:
    with pytest.raises(SandboxFailure, match="nowhere:1 is not there") as failure:
        image.find(docker_or_skip(), "nowhere:1")
    assert failure.value.mend is not None
    assert "slowwave sandbox build" in failure.value.mend


def test_a_base_image_that_cannot_be_pulled_is_said_with_both_ways_out(tmp_path: Path) -> None:
    name = "127.0.0.1:1/nothing:here"  # a registry of loopback where nobody listens
    with pytest.raises(SandboxFailure, match=f"{name} is not there and cannot be") as failure:
        image.build(docker_or_skip(), base=name, folder=tmp_path, fetch=False)
    assert failure.value.mend is not None
    assert "--base" in failure.value.mend
    assert "debootstrap" in failure.value.mend


def test_a_base_image_without_python_is_refused(tmp_path: Path) -> None:
    daemon, buffer = docker_or_skip(), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    name = "slowwave-test-empty:1"
    daemon.client.import_image_from_data(buffer.getvalue(), "slowwave-test-empty", "1")
    probes = {"label": [f"{name}={text}" for name, text in image.PROBE_LABELS.items()]}
    try:
        with pytest.raises(UsageError, match="has no Python that runs") as failure:
            image.build(daemon, base=name, folder=tmp_path, fetch=False)
        assert "python:3." in str(failure.value.mend)
        left = daemon.client.containers(all=True, filters={**probes, "ancestor": [name]})
        assert left == []
    finally:
        daemon.client.remove_image(name, force=True)


def test_a_missing_wheel_is_named_with_the_command_that_brings_it(tmp_path: Path) -> None:
    base, folder = base_or_skip()
    for path in folder.glob("*.whl"):
        if not path.name.startswith("jinja2"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "not a wheel.whl").write_bytes(b"")
    with pytest.raises(UsageError, match="holds no wheel of jinja2==") as failure:
        image.build(docker_or_skip(), base=base, folder=tmp_path, fetch=False)
    assert str(tmp_path) in str(failure.value.mend)


def test_a_folder_that_has_all_is_not_downloaded_to() -> None:
    _, folder = base_or_skip()
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    found = wheels.download(folder, wheels.pins(), Interpreter("3.11.2", "x86_64", "glibc"))
    assert set(found) == {"pip", "jinja2", "markupsafe"}
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_wheel_for_another_python_does_not_count(tmp_path: Path) -> None:
    base, folder = base_or_skip()
    for path in folder.glob("*.whl"):
        name = path.name.replace("cp311-cp311", "cp27-cp27m")
        (tmp_path / name).write_bytes(path.read_bytes())
    with pytest.raises(UsageError, match=r"no wheel of markupsafe==[0-9.]+ for Python 3\.11"):
        image.build(docker_or_skip(), base=base, folder=tmp_path, fetch=False)


def test_of_two_wheels_the_fitting_one_is_taken(tmp_path: Path) -> None:
    _, folder = base_or_skip()
    for path in folder.glob("*.whl"):
        for name in (path.name, path.name.replace("cp311-cp311", "cp312-cp312")):
            (tmp_path / name).write_bytes(path.read_bytes())
    found = wheels.find(tmp_path, wheels.pins(), Interpreter("3.11.2", "x86_64", "glibc"))
    assert "-cp311-cp311-" in found["markupsafe"].name
    found = wheels.find(tmp_path, wheels.pins(), Interpreter("3.12.1", "x86_64", "glibc"))
    assert "-cp312-cp312-" in found["markupsafe"].name
    with pytest.raises(UsageError, match=r"markupsafe==.* for Python 3\.12 \(musl, x86_64\)"):
        wheels.find(tmp_path, wheels.pins(), Interpreter("3.12.1", "x86_64", "musl"))


@pytest.mark.parametrize(
    ("libc", "tag"), [("glibc", "manylinux_2_17_x86_64"), ("musl", "musllinux_1_2_x86_64")]
)
def test_platform_tags_are_those_of_the_image(libc: str, tag: str) -> None:
    python = Interpreter("3.12.1", "x86_64", libc)
    assert tag in python.platforms
    assert python.minor == "3.12"


def test_a_daemon_that_is_not_there_is_away(tmp_path: Path) -> None:
    with pytest.raises(SandboxAway, match="does not answer") as failure:
        connect(f"unix://{tmp_path}/nothing.sock")
    assert failure.value.mend is not None
    assert "correct its address" in failure.value.mend
    with pytest.raises(SandboxAway, match="does not answer"):
        connect("tcp://127.0.0.1:1")


def test_an_address_that_cannot_be_used_is_said() -> None:
    with pytest.raises(UsageError, match="cannot reach a Docker daemon at ssh://host") as failure:
        connect("ssh://host")
    assert "ssh -L" in str(failure.value.mend)


def test_the_usual_variable_is_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    connect.cache_clear()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/elsewhere.sock")
    with pytest.raises(SandboxAway, match=r"elsewhere\.sock"):
        connect(None)
