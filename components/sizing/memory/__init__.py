"""Bytes that one card holds."""
