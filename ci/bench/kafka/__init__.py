"""The reference beside Apache Kafka."""
