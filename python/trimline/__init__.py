"""Trimline from Python. For now: drawing the figures of finished runs (`trimline.plot`)."""
