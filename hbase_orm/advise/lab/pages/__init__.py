"""The page of a lab: one HTML file with its plots as SVG, and nothing from elsewhere."""
