"""Apache Kafka in KRaft mode: combined nodes, whose metadata is in a log of their own quorum."""
