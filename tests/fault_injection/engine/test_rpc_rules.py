"""What brokers under fault control tell the harness."""

from fencepost.fault_injection.engine.rpc_rules import BrokerSession


def test_the_password_of_a_session_is_in_no_message() -> None:
    session = BrokerSession(session_id=0x1000_0000_0000_0001, password=b"sixteen of bytes")

    assert "sixteen" not in f"{session} {session!r}"
    assert str(session.session_id) in repr(session)
