# what: `ConfigParser().read("file.ini")`
# why: a worker has no file system; `read_string` takes text that a capability has read
# raises: NameError: name 'open' is not defined
import configparser
configparser.ConfigParser().read("settings.ini")
