"""Extract the members of an archive into files, and take files into it."""

# stopped: raises AttributeError
# because: has no attribute

import io, zipfile
memory = io.BytesIO()
with zipfile.ZipFile(memory, "w") as archive:
    archive.writestr("../../tmp/x", "y")
archive = zipfile.ZipFile(memory)
for call in (lambda: archive.extractall("/tmp"), lambda: zipfile.ZipFile("/tmp/x.zip", "w"), lambda: archive.write("/etc/passwd")):
    try:
        call()
        escaped()
    except (AttributeError, ValueError, NameError):
        pass
archive.extract("../../tmp/x")
