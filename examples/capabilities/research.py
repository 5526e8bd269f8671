"""{"research": {}}"""

source = {"title": "Annual report", "url": "https://example.org/report"}
await caps.research.add(text="Sales rose by 4 %.", section="Sales", sources=[source])
await caps.research.add(text="Two shops were closed.", section="Shops", sources=[source])
print((await caps.research.list()).sections)
print((await caps.research.summary(title="Acme")).text)

# prints
# ['Sales', 'Shops']
# # Acme
#
# ## Sales
#
# - Sales rose by 4 %. [1]
#
# ## Shops
#
# - Two shops were closed. [1]
#
# ## Sources
#
# 1. Annual report <https://example.org/report>
