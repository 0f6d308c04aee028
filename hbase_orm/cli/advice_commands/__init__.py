"""Commands that judge models."""
