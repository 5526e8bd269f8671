"""Catch every interrupt, also those within the handler and the clean-up, and live on."""

# stopped: limited
# where: worker

def stay():
    while True:
        try:
            try:
                while True:
                    n = 1
            except BaseException:
                while True:
                    n = 2
            finally:
                while True:
                    n = 3
        except BaseException:
            pass
        finally:
            stay()

while True:
    try:
        stay()
    except BaseException:
        continue
