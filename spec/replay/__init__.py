"""Replays recorded runs against `spec/tla/TraceReplication.tla`: is a run a behaviour of the spec?"""
