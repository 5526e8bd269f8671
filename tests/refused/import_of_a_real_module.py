# what: modules without a facade
# why: they give access to the machine; a policy may grant a capability, or the module by name
# raises: ModuleNotFoundError: `subprocess` cannot be imported here
import subprocess
