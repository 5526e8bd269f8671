"""(8) The records of an execution itself: their text, and the writing of each of them once."""
