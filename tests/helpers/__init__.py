"""Typed fakes and builders the test tiers share."""
