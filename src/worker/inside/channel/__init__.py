"""The worker's end of the channel: requests, answers, captured output.

No rule of the language lives here.
"""
