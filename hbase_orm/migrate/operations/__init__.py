"""The operations of revisions: values that describe, estimate, run and reverse themselves."""
