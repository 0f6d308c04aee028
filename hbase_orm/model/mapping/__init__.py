"""Objects to cells and back, by functions generated once a model."""
