# Completions of ioassay for fish: put this file into ~/.config/fish/completions.

function __ioassay_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l command (string replace -r '^~/' "$HOME/" -- $typed[1])  # it is as it was typed
    set -l reply (env _IOASSAY_COMPLETE=fish $command $typed[2..] 2>/dev/null)
    printf '%s\n' $reply[2..]
    switch "$reply[1]"
        case files
            __fish_complete_path (commandline -ct)
        case directories
            __fish_complete_directories (commandline -ct) ''
    end
end

complete -c ioassay -f -k -a '(__ioassay_complete)'
