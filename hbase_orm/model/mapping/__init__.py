"""Objects to cells and back, by functions generated once for each model."""
