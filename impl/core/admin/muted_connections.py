"""Connections of throttled clients: nothing is taken from one before its time (QUOTA-010)."""

from fencepost.impl.core.types.events import RequestReceived


class MutedConnections:
    """What came too early waits here; what came over other connections does not."""

    def __init__(self) -> None:
        self._until_ms: dict[str, int] = {}
        self._held: list[RequestReceived] = []

    def mute(self, connection: str, until_ms: int) -> None:
        """Nothing is taken from the connection before that, or before what was said already."""
        if connection:
            self._until_ms[connection] = max(self._until_ms.get(connection, 0), until_ms)

    def holds(self, event: RequestReceived, now_ms: int) -> bool:
        """True when the request has come too early; it is released later."""
        if self._until_ms.get(event.connection, 0) <= now_ms:
            return False
        self._held.append(event)
        return True

    def release(self, now_ms: int) -> list[RequestReceived]:
        """The requests of connections that are muted no longer, in the order of their arrival."""
        if not self._until_ms:
            return []
        self._until_ms = {one: until for one, until in self._until_ms.items() if until > now_ms}
        free = [one for one in self._held if one.connection not in self._until_ms]
        self._held = [one for one in self._held if one.connection in self._until_ms]
        return free
