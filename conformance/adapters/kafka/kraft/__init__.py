"""Apache Kafka in KRaft mode: combined nodes that keep their metadata in a log of their own."""
