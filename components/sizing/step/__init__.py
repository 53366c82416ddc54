"""Seconds of one optimizer step."""
