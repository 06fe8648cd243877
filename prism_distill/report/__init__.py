"""What a distilled planner is worth: tables 1 to 3 and figure 5 of the PRISM paper, measured here."""
