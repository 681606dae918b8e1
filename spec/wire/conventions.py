"""What client and server of `replication.proto` agree on beside the messages."""

SERVICE = "fencepost.Replication"
LAMPORT_KEY = "fencepost-lamport"
NODE_KEY = "fencepost-node"
RECEIVER_KEY = "fencepost-to"
"""Metadata key, the id of the receiving broker: the port may belong to another by now."""
NEVER_SENT = ("failed to connect to all addresses", "errors resolving", "DNS resolution failed")
"""Details of gRPC's status UNAVAILABLE that prove that the request was not sent."""
CONTROLLER_VERSION = 1
"""Of a request for a change: for the controller alone; version 0 is for any broker (FWD-002)."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024

MESSAGE_SIZES = (
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
)
CHANNEL_OPTIONS = (
    *MESSAGE_SIZES,
    ("grpc.enable_http_proxy", 0),
    # gRPC would send a request again that a server may have seen.
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
)

UNTRUSTED = "UNTRUSTED"
"""Error code of a client itself: the broker's certificate does not prove that it is the one."""


def was_sent(status: str, details: str | None) -> bool:
    """False when status and details of a gRPC error prove that no broker got the request."""
    return status != "UNAVAILABLE" or not any(words in (details or "") for words in NEVER_SENT)
