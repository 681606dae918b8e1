"""Apache Kafka in KRaft mode: brokers under controllers that keep the metadata in a log."""
