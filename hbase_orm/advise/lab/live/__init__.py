"""The regions of a cluster as they are: counted through the gateways, and as servers count them."""
