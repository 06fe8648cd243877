"""LoRA fine-tuning of a planner on whole episodes (PRISM paper, section 3.3)."""
