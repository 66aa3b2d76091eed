# bash completion for sim: eval "$(sim completion bash)"
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
