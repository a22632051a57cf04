"""The figures of a profile: rates and operations over time, processes over time, latencies, sizes."""
