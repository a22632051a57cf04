# Completions of ioassay for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions or /usr/share/bash-completion/completions.

_ioassay() {
    local reply current=$2 typed=${COMP_LINE:0:COMP_POINT}
    # The command is as it was typed, with its tilde.
    mapfile -t reply < <(_IOASSAY_COMPLETE=bash "${1/#\~\//$HOME/}" "$typed" 2>/dev/null)
    # Bash takes = and : for ends of words, so what stands before them is not to be replaced.
    local word=${typed##*[[:space:]]}
    local before=${word%"$current"}
    [[ $current == [=:] ]] && before=$word current=''
    COMPREPLY=("${reply[@]:1}")
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    case ${#COMPREPLY[@]}:${reply[0]} in
        0:files) compopt -o bashdefault -o default ;;
        0:directories) compopt -o dirnames ;;
        *:files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current") ;;
        *:directories) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$current") ;;
    esac
    [[ ${COMPREPLY[0]} == *[=:/] ]] && compopt -o nospace
    return 0
}

complete -F _ioassay ioassay
