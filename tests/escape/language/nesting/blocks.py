"""Nest more blocks than the compiler can hold."""

# stopped: refused
# because: too many statically nested blocks

for x0 in [1]:
 for x1 in [1]:
  for x2 in [1]:
   for x3 in [1]:
    for x4 in [1]:
     for x5 in [1]:
      for x6 in [1]:
       for x7 in [1]:
        for x8 in [1]:
         for x9 in [1]:
          for x10 in [1]:
           for x11 in [1]:
            for x12 in [1]:
             for x13 in [1]:
              for x14 in [1]:
               for x15 in [1]:
                for x16 in [1]:
                 for x17 in [1]:
                  for x18 in [1]:
                   for x19 in [1]:
                    for x20 in [1]:
                     for x21 in [1]:
                      for x22 in [1]:
                       for x23 in [1]:
                        for x24 in [1]:
                         escaped()
