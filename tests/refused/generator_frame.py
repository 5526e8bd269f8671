# what: attributes of generators, coroutines, frames and code (`gi_*`, `cr_*`, `ag_*`, `tb_*`, `f_*`, `co_*`)
# why: the same
# raises: SourceError: `gi_frame` reaches into the interpreter
(n for n in ()).gi_frame
