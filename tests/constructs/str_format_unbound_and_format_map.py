# str.format unbound and format_map
result = list(map('{:02d}'.format, [1, 2])) + [str.format('{}!', 1), '{a}'.format_map({'a': 2})]
assert result == ['01', '02', '1!', '2']
