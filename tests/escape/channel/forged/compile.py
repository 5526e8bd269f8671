"""Have source compiled, as only the host may."""

# stopped: violation malformed

worker.raw(
    frame(
        encoder.encode(
            {
                "type": "compile",
                **worker.stamp(),
                "source": "1",
                "filename": "x",
                "limits": {"cpu_ms": 1, "memory_mb": 1, "concurrency": 1},
            }
        )
    )
)
