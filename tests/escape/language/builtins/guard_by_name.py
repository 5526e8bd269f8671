"""Call a guard by the name that it stands under."""

# stopped: raises CapabilityMissingError
# because: `<own>` is not granted by policy `escape`; granted: nothing
# where: worker

take(getattr(caps, "<own>"))
