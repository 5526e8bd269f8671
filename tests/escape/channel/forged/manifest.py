"""Send a manifest, as only the host may."""

# stopped: violation malformed

worker.say(ManifestMessage, execution_id="x", namespace="caps", policy_id="x", capabilities=[])
