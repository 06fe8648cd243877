"""What a robot can execute, and the monitor that every execution passes."""
