# SPDX-License-Identifier: MIT
# Reads what `llvm-cov show --show-branches=count` prints of several programs, and prints how many
# of the C core's branches they took together: by file, in total, and each that none took.
#
#   awk -v root=FOLDER -v least=95 -f report.awk explained.txt SHOWN...
#
# A branch is one outcome of one condition, at one place of the source: that of an inline function
# or a macro counts once, whoever uses it. What the compiler decided does not count. explained.txt
# has paragraphs: why something is not taken, in lines that begin with '#', and then lines of
#
#   FILE: TEXT            every branch never taken on the lines of FILE that contain TEXT
#   FILE: true TEXT       the same, but only where the condition never held; or false

function relative(path) {
    return index(path, root "/") == 1 ? substr(path, length(root) + 2) : path
}

# The explanations.
FILENAME ~ /explained\.txt$/ && /^[^#]/ {
    colon = index($0, ": ")
    explained_file[++explanations] = substr($0, 1, colon - 1)
    text = substr($0, colon + 2)
    explained_side[explanations] = ""
    if (match(text, /^(true|false) /)) {
        explained_side[explanations] = substr(text, 1, RLENGTH - 1)
        text = substr(text, RLENGTH + 1)
    }
    explained_text[explanations] = text
}
FILENAME ~ /explained\.txt$/ { next }

/^\/.*:$/ {
    file = relative(substr($0, 1, length($0) - 1))
    is_ours = file ~ /^Sources\/CLarder/
    next
}
!is_ours { next }

# The source, to quote it.
match($0, /^ *[0-9]+\|[^|]*\|/) {
    line = $0
    sub(/\|.*/, "", line)
    quoted[file, line + 0] = substr($0, RLENGTH + 1)
    next
}

# For example: "  |  Branch (86:13): [True: 35, False: 70.7k]".
match($0, /Branch \([0-9]+:[0-9]+\): \[/) {
    place = substr($0, RSTART + 8, RLENGTH - 12)
    split(substr($0, RSTART + RLENGTH), sides, ", ")
    note("true", "True: ")
    note("false", "False: ")
}

function note(side, label,    i, at, branch, count) {
    for (i in sides) {
        at = index(sides[i], label)
        if (at != 1) continue
        branch = file SUBSEP place SUBSEP side
        count = substr(sides[i], length(label) + 1)
        sub(/\].*/, "", count)
        if (!(branch in taken)) {
            taken[branch] = 0
            branches[++total] = branch
            if (!(file in total_of)) files[++file_count] = file
            total_of[file]++
        }
        if (count != "0") taken[branch] = 1
    }
}

function explanation(file, text, side,    i, found) {
    found = 0
    for (i = 1; i <= explanations; i++) {
        if (explained_file[i] == file && index(text, explained_text[i]) &&
            (explained_side[i] == "" || explained_side[i] == side)) {
            used[i] = found = 1
        }
    }
    return found
}

function percent(part, whole) { return whole ? int(10000 * part / whole) / 100 : 100 }

END {
    for (i = 1; i <= total; i++) {
        split(branches[i], parts, SUBSEP)
        if (taken[branches[i]]) {
            taken_of[parts[1]]++
            taken_total++
            continue
        }
        split(parts[2], position, ":")
        text = quoted[parts[1], position[1]]
        sub(/^ +/, "", text)
        if (explanation(parts[1], text, parts[3])) {
            explained_of[parts[1]]++
            explained_total++
        } else {
            printf "%s:%s: never %s: %s\n", parts[1], parts[2], parts[3], text
        }
    }
    for (i = 1; i <= explanations; i++) {
        if (used[i]) continue
        printf "explained, but taken or gone: %s: %s\n", explained_file[i], explained_text[i]
    }
    printf "\n%-52s %8s %6s %9s %7s\n", "file", "branches", "taken", "explained", "%"
    for (i = 1; i <= file_count; i++) {
        file = files[i]
        printf "%-52s %8d %6d %9d %7.2f\n", file, total_of[file], taken_of[file], \
            explained_of[file], percent(taken_of[file], total_of[file])
    }
    printf "%-52s %8d %6d %9d %7.2f\n", "the C core", total, taken_total, explained_total, \
        percent(taken_total, total)
    printf "never taken and not explained: %d\n", total - taken_total - explained_total
    exit percent(taken_total, total) < least
}
