# what: `input`
# why: there is no terminal to read from
# raises: NameError: name 'input' is not defined
input()
