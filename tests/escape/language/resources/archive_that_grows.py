"""Unpack an archive of zeros that is larger than the memory."""

# stopped: limited
# where: worker

import io, zipfile, zlib
memory = io.BytesIO()
with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
    with archive.open("zeros", "w", force_zip64=True) as file:
        for _ in range(600):
            file.write(bytes(1 << 20))
len(zipfile.ZipFile(memory).read("zeros"))
escaped()
