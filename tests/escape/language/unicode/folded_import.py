"""Import a private name by letters that are folded."""

# stopped: refused
# because: invalid character '＿' (U+FF3F)

from json import ＿default_decoder
