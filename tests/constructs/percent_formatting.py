# percent formatting
result = '%s %(a)s'[:2] % 1, '%(a)05.1f' % {'a': 2}
assert result == ('1', '002.0')
