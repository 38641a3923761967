# From what a program says with --help: its manual page (roff), or completion for bash. So neither can say anything else.
#   PROGRAM --help | awk -f deploy/pages.awk -v form=man -v program=PROGRAM -v version=0.1.0 -v summary=WORDS
#   PROGRAM --help | awk -f deploy/pages.awk -v form=bash -v program=PROGRAM
# A flag is a line of two spaces and two dashes, its text what is indented more; what stands before the first one describes
# the program.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/)
        text = "\\\&" text
    return text
}
function quoted(text) {
    gsub(/'/, "'\\''", text)
    return "'" text "'"
}
BEGIN {
    if (form == "man") {
        printf ".TH %s 8 \"\" \"%s %s\" \"System Administration\"\n", toupper(program), program, version
        printf ".SH NAME\n%s \\- %s\n", program, roff(summary)
        printf ".SH SYNOPSIS\n.B %s\n[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n", roff(program)
    }
}
/^Usage: |^ +interference_/ { next }
/^  --/ {
    flag = substr($0, 3)
    if (form == "man") {
        if (!flags++)
            printf ".SH OPTIONS\n"
        printf ".TP\n.B %s\n", roff(flag)
        next
    }
    value = ""
    if (match(flag, /=/)) {
        value = substr(flag, RSTART + 1)
        flag = substr(flag, 1, RSTART - 1)
    }
    if (sub(/^--\[no-\]/, "--", flag))
        words[++n] = "--no-" substr(flag, 3)
    words[++n] = value == "" ? flag : flag "="
    if (value ~ /^[a-z0-9]+(\|[a-z0-9-]+)+$/) {
        gsub(/\|/, " ", value)
        values[flag] = value
    } else if (value ~ /^(FILE|PATH|DIRECTORY|DIR)$/)
        files[flag] = 1
    next
}
/^$/ { next }
form == "man" && flags {
    sub(/^ +/, "")
    print roff($0)
    next
}
form == "man" {
    print roff($0)
}
END {
    if (form == "man") {
        printf ".SH SEE ALSO\nThe documents of the package, and /api/v1/status of one that runs.\n"
        exit
    }
    printf "# bash completion for %s, made of its --help\n_%s() {\n    local current=\"${COMP_LINE:0:COMP_POINT}\"\n", program, program
    printf "    current=\"${current##* }\"\n    COMPREPLY=()\n    case \"$current\" in\n"
    for (i = 1; i <= n; i++) {
        flag = words[i]
        sub(/=$/, "", flag)
        if (flag in values)
            printf "    %s=*) COMPREPLY=($(compgen -W %s -- \"${current#*=}\")) ;;\n", flag, quoted(values[flag])
        else if (flag in files)
            printf "    %s=*) COMPREPLY=($(compgen -f -- \"${current#*=}\")) ;;\n", flag
    }
    printf "    -*=*) ;;\n    *)\n        COMPREPLY=($(compgen -W '"
    for (i = 1; i <= n; i++)
        printf "\n            %s", words[i]
    printf "' -- \"$current\"))\n        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n        ;;\n    esac\n}\n"
    printf "complete -F _%s %s\n", program, program
}
