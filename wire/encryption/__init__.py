"""Encryption of payloads: keys, the codec, and the handling of payloads that cannot be read."""
