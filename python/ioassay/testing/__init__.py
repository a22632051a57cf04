"""Builders for tests: realistic results without a storage system. Not: anything that ships behaviour."""
