"""End-to-end tests. A package, so that they can share `support`."""
