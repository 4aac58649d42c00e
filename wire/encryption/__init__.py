"""Encryption of payloads: keys, the codec, and payloads that cannot be read."""
