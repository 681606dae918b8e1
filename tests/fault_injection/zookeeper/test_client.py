import pytest

from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import (
    BadVersionError,
    NoZnodeError,
    OutcomeUnknownError,
    ZnodeExistsError,
    ZooKeeperClient,
)
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer, check_external
from fencepost.spec.zookeeper import ZooKeeperError

pytestmark = pytest.mark.zookeeper


def test_a_znode_lives_through_create_set_and_delete(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperClient(zookeeper.address) as client:
        client.create("/life", b"one")
        assert client.set("/life", b"two", version=0) == 1
        znode = client.read("/life")
        client.delete("/life", version=1)

        assert (znode.data, znode.znode_version, znode.ephemeral_owner) == (b"two", 1, 0)
        assert znode.mzxid == znode.czxid + 1
        assert client.exists("/life") is None


def test_conditional_writes_with_another_version_are_refused(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperClient(zookeeper.address) as client:
        client.create("/guarded", b"kept")
        with pytest.raises(BadVersionError, match=r"^znode /guarded at .* has another version$"):
            client.set("/guarded", b"lost", version=3)
        with pytest.raises(BadVersionError):
            client.delete("/guarded", version=3)

        assert client.read("/guarded").data == b"kept"


def test_errors_name_the_path(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperClient(zookeeper.address) as client:
        client.create("/there")
        with pytest.raises(NoZnodeError, match=r"^there is no znode /not-there at 127"):
            client.read("/not-there")
        with pytest.raises(NoZnodeError, match=r"/not-there"):
            client.children("/not-there")
        with pytest.raises(NoZnodeError, match=r"/not-there/child"):
            client.create("/not-there/child")
        with pytest.raises(ZnodeExistsError, match=r"^there is a znode /there .* already$"):
            client.create("/there")


def test_a_tree_is_made_listed_and_deleted_below_the_chroot(zookeeper: ZooKeeperServer) -> None:
    check_external(f"{zookeeper.address}/root")
    with ZooKeeperClient(f"{zookeeper.address}/root") as client:
        for path in ("/tree/b", "/tree/a/leaf", "/tree/a/leaf"):
            client.create_path(path)
        assert client.children("/tree") == ["a", "b"]
        client.delete_recursively("/tree")
        client.delete_recursively("/tree")
        assert client.children("/") == []


def test_an_ephemeral_znode_ends_with_its_session(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperClient(zookeeper.address) as observer:
        with ZooKeeperClient(zookeeper.address) as owner:
            owner.create("/mine", ephemeral=True)
            found = observer.exists("/mine")
            assert found is not None
            assert found.ephemeral_owner == owner.session_id
            assert len(owner.session_password) == 16
        assert observer.exists("/mine") is None


def test_without_a_session_there_are_no_credentials() -> None:
    with pytest.raises(
        ZooKeeperError, match=r"there is no session with 127\.0\.0\.1:1; connect first"
    ):
        _ = ZooKeeperClient("127.0.0.1:1").session_id


def test_a_write_without_an_answer_has_an_unknown_outcome(supervisor: Supervisor) -> None:
    server = ZooKeeperServer(supervisor, supervisor.directory / "paused")
    server.start()
    with ZooKeeperClient(server.address, deadline_s=0.3) as client:
        server.process.pause()
        with pytest.raises(OutcomeUnknownError, match=r"^no answer about znode /maybe at"):
            client.create("/maybe")
        server.process.resume()
