"""Replays recorded runs against `spec/tla/TraceReplication.tla`: does the spec allow them?"""
