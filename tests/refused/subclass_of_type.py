# what: a subclass of `type`
# why: it would be a metaclass
# raises: TypeError: `type` cannot be a base class here
class Meta(type): ...
