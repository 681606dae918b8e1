"""A node's ZooKeeper session: what registration and controller election know of it together."""

from dataclasses import dataclass

from fencepost.spec.vocabulary import SessionId

NO_SESSION = SessionId(0)


@dataclass(slots=True)
class NodeSession:
    """The session, whether its broker is registered under it, and when to try again."""

    session_id: SessionId = NO_SESSION
    is_registered: bool = False
    retry_at_ms: int | None = None
    """When what failed with the connection is tried again."""

    def begin(self, session_id: SessionId) -> None:
        """A new session: the broker is not registered under it."""
        self.session_id = session_id
        self.is_registered = False

    def end(self) -> None:
        """There is no session."""
        self.begin(NO_SESSION)
