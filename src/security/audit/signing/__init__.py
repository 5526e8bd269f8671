"""Keys and signatures of the log: checkpoints, key rotation, the chain of trust."""
