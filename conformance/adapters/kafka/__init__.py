"""Apache Kafka as an implementation under test: unmodified releases as processes of this host.

Start with `modes.py`, which chooses between `with_zookeeper` and `kraft`; `releases.toml` says what
can be run.
"""
