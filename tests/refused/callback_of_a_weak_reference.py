# what: a callback of a weak reference to an object of a library
# why: it would run while the library is at work; objects of the code's own classes may have one
# raises: TypeError: a callback needs an object of a class of your own
import weakref
weakref.ref({1, 2}, print)
