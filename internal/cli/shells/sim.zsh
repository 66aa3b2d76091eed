#compdef sim
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
