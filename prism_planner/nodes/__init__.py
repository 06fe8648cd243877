"""ROS 2 adapters: the only place that knows about ROS.

Each node is thin: it translates messages and parameters, and leaves the thinking to plain modules.
"""
