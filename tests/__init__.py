"""End-to-end tests. A package, so that they can share `support`.

How to test: docs/development/testing.md.
"""
