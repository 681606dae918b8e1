"""A cluster of its own for each module that asks for one."""

from collections.abc import Iterator

import pytest

from tests.reports.spark.standalone import (
    StandaloneCluster,
    standalone_cluster,
    why_no_hidden_folder,
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    if why := why_no_hidden_folder(folder):
        pytest.skip(why)
    with standalone_cluster(folder, workers=2) as started:
        yield started
