"""What is published of configurations, held against the arithmetic: which reading of its units, if any, agrees.

Not: claims about measured figures (`systems.claims`).
"""
