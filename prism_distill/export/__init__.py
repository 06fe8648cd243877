"""From a trained adapter to what a robot loads: GGUF files, checked against transformers."""
