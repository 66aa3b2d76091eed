package cli

// The scripts ask "sim __complete WORD..." for the continuations of the last word, one a line, and complete file names
// themselves where a line is filesToo.
const (
	bashScript = `# bash completion for sim: eval "$(sim completion bash)"
_sim() {
	local line cur prev words cword
	# COMP_WORDS is split at = and :, which the words of sim may hold.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n =: cur words cword
	else
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
	fi
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen -f -- "$cur")
		else
			COMPREPLY+=("$line")
		fi
	done < <("${words[0]}" __complete "${words[@]:1:cword}" 2>/dev/null)
}
complete -F _sim sim
`

	zshScript = `#compdef sim
# zsh completion for sim: eval "$(sim completion zsh)" after compinit
_sim() {
	local -a lines
	lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if (( ${lines[(Ie):files]} )); then
		lines=("${(@)lines:#:files}")
		_files
	fi
	lines=("${(@)lines:#}")
	(( $#lines )) && compadd -- "${lines[@]}"
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
	_sim "$@"
else
	compdef _sim sim
fi
`

	fishScript = `# fish completion for sim: sim completion fish | source
function __sim_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command $words[1] __complete $words[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c sim -f -a "(__sim_complete)"
`
)
