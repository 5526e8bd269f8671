# what: modules that are no facade
# why: they are the machine; a policy may grant a capability, or the module by name
# raises: ModuleNotFoundError: `subprocess` cannot be imported here
import subprocess
