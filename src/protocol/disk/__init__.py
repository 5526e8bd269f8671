"""Files of Caps itself that outlive a process: where they are, and how they are read and created.

Nothing here knows what is in a file.
"""
