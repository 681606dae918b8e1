"""When what has failed is tried again (ZK-009)."""


def retry_after_pause(now_ms: int, pause_ms: int) -> int:
    """The time from which on it may be tried again: what fails does so for a while."""
    return now_ms + pause_ms
