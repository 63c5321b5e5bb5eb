# SPDX-License-Identifier: MIT
# What objects leave undefined and no other of their target defines, against a list of what they
# may.
# usage: llvm-nm -A --format=posix OBJECT… | awk -v layer=REGEX -f symbols.awk LIST -
# An object is TARGET/SOURCE.o, and `layer` says which sources are the system layer's.

FNR == NR {
  if ($1 !~ /^#/)
    for (i = 3; i <= NF; i++) users["_" $i] = users["_" $i] "," $1
  next
}

{
  target = source = $1
  sub(/\/.*/, "", target)
  sub(/^[^\/]*\//, "", source)
  sub(/\.o:$/, "", source)
  if ($3 == "U") used[target, $2, source]
  else defined[target, $2]
}

END {
  for (use in used) {
    split(use, part, SUBSEP)
    target = part[1]
    symbol = part[2]
    source = part[3]
    if (!(symbol in users)) {
      if ((target, symbol) in defined) continue
      text = source " uses " substr(symbol, 2) ", which is not in symbols.txt"
    } else {
      own = substr(source, length("Sources/") + 1)
      if (users[symbol] == ",anywhere" || source ~ layer) continue
      if (index(users[symbol] ",", "," own ",")) continue
      text = source " uses " substr(symbol, 2) ", which is not for it"
    }
    wrong[text] = wrong[text] " " target
  }
  for (text in wrong) print "  " text ":" wrong[text]
}
