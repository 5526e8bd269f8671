"""{"artifacts": {}}"""

rows = ["day,orders", "monday,12", "tuesday,9"]
saved = await caps.artifacts.save(name="orders.csv", content="\n".join(rows))
print(saved.media_type, saved.size)

# prints
# text/csv 30
