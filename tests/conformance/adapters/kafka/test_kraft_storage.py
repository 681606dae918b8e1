"""What is on the disks of nodes in KRaft mode before they start."""

from pathlib import Path

from fencepost.conformance.adapters.kafka.kraft.storage import (
    META,
    copy_controller,
    require_formatted,
)


def told(folder: Path) -> dict[str, str]:
    lines = (folder / META).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_an_emptied_folder_is_formatted_anew_for_the_same_node_and_cluster(tmp_path: Path) -> None:
    require_formatted(tmp_path / "logs", 2, "cluster")
    before = told(tmp_path / "logs")
    require_formatted(tmp_path / "logs", 2, "another")
    kept = told(tmp_path / "logs")
    (tmp_path / "logs" / META).unlink()
    require_formatted(tmp_path / "logs", 2, "cluster")
    after = told(tmp_path / "logs")

    assert kept == before
    assert before["directory.id"] != after["directory.id"]
    assert {k: v for k, v in after.items() if k != "directory.id"} == {
        "version": "1",
        "cluster.id": "cluster",
        "node.id": "2",
    }


def test_controllers_begin_with_the_same_metadata_as_nodes_of_their_own(tmp_path: Path) -> None:
    first = tmp_path / "101"
    require_formatted(first, 101, "cluster")
    (first / "__cluster_metadata-0").mkdir()
    (first / "__cluster_metadata-0" / "bootstrap").write_text("features")

    copy_controller(first, tmp_path / "102", 102, "cluster")

    assert (tmp_path / "102" / "__cluster_metadata-0" / "bootstrap").read_text() == "features"
    assert told(tmp_path / "102")["node.id"] == "102"
    assert told(tmp_path / "102")["directory.id"] != told(first)["directory.id"]
