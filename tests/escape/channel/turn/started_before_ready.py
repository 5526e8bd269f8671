"""Say that the code has started before the handshake."""

# stopped: violation out_of_turn
# when: before_ready

worker.say(StartedMessage)
