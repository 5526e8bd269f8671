# a variable called `type`
def kind(type):
    return type(3)


type_of_it = kind(str)
assert type_of_it == "3"
