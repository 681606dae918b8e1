"""Apache Kafka as an implementation under test: unmodified releases as processes of this host.

Start with `kafka.py`, which puts the parts together; `releases.toml` says what can be run.
"""
