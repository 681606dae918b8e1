"""Apache Kafka in ZooKeeper mode."""
