"""{"current_time": {}}"""

moment = await caps.time.now(timezone="Asia/Tokyo", format="human")
print(moment.timezone, moment.value.endswith("JST"))

# prints
# Asia/Tokyo True
