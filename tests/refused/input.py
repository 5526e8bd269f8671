# what: `input`
# why: nobody is there to answer
# raises: NameError: name 'input' is not defined
input()
