"""Be handed the real `type`, which an alias stands for, by a comparison of aliases."""

# stopped: harmless

import typing

class Origin:
    def __eq__(self, other):
        take(other)

    def __hash__(self):
        return 0

alias = type(typing.List[int])(Origin(), (int,))
alias == typing.Type[int]
typing.Type[int] == alias
None
