"""PRISM: language planning that runs on the robot."""

__version__ = "0.1.0"
