"""What agents are given: capabilities are declared, found, listed and resolved here."""
