"""Write a name with mathematical letters."""

# stopped: refused
# because: reaches into the interpreter

take(print.__𝓰𝓵𝓸𝓫𝓪𝓵𝓼__)
