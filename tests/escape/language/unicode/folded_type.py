"""Write `type` by letters that Unicode folds, and bind it."""

# stopped: harmless

ｔype = lambda value: take(value)
type(1)
