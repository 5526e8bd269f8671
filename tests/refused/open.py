# what: `open`
# why: a worker has no file system; a policy may grant `caps.files`
# raises: NameError: name 'open' is not defined
open("notes.txt")
