# package: PyYAML
# modules: yaml
import yaml

# %% the version
assert yaml.__version__
# %% loading and dumping, several documents, the C loader, errors
assert yaml.safe_load("a: [1, 2]\nb: {c: 2024-01-05}")["a"] == [1, 2]
print(yaml.dump({"a": [1, 2], "b": None}, sort_keys=False))
yaml.safe_dump([1]), list(yaml.safe_load_all("--- 1\n--- 2"))
yaml.load("a: 1", Loader=yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader), yaml.__version__
try:
    yaml.safe_load("a: [")
except yaml.YAMLError as e:
    print(e)
# %% a representer for a class of one's own
class P:
    def __init__(self, x): self.x = x
yaml.SafeDumper.add_representer(P, lambda d, p: d.represent_mapping("!p", {"x": p.x}))
assert yaml.safe_dump(P(1)).startswith("!p")
