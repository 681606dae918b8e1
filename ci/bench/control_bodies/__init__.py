"""What the controller's requests to many brokers cost."""
