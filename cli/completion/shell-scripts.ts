// Completion scripts for shells, which call mfctl. Every line of its answer is a word, a tab and a description;
// `:files N` requests file names after the first N characters of the word. The answer is never evaluated.

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** Readline also splits words at `=` and `:`; the script joins the pieces again. */
const bash = `# bash completion for mfctl: source <(mfctl completion bash)

_mfctl() {
  local rest=\${COMP_LINE:0:COMP_POINT} words=() piece bare kept= line i
  rest=\${rest#*"\${COMP_WORDS[0]}"}
  for ((i = 1; i <= COMP_CWORD; i++)); do
    bare=\${rest#"\${rest%%[![:space:]]*}"}
    piece=\${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && piece=$bare
    if [[ $bare == "$rest" && -n $piece && \${#words[@]} -gt 0 ]]; then
      kept=\${words[\${#words[@]} - 1]}
      words[\${#words[@]} - 1]=$kept$piece
    else
      kept=
      words+=("$piece")
    fi
    rest=\${bare#"$piece"}
  done
  # What readline takes for the word begins after the last break.
  [[ $piece =~ ^[=:@\\<\\>]+$ ]] && kept+=$piece

  COMPREPLY=()
  compopt -o nosort 2>/dev/null
  while IFS= read -r line; do
    case $line in
    :files*)
      # Readline takes no name of a file after an @.
      if [[ $piece == @* ]]; then
        while IFS= read -r line; do COMPREPLY+=("@$line"); done < <(compgen -f -- "\${piece#@}")
        compopt -o filenames 2>/dev/null
      else
        compopt -o default 2>/dev/null
      fi
      ;;
    *)
      line=\${line%%$'\\t'*}
      COMPREPLY+=("\${line#"$kept"}")
      ;;
    esac
  done < <(mfctl __complete --shell bash -- "\${words[@]}" 2>/dev/null </dev/null)
}

complete -F _mfctl mfctl
`;

/** Loaded from the fpath, the file is the body of the function, so the function has to be called. */
const zsh = `#compdef mfctl
# zsh completion for mfctl: mfctl completion zsh > a folder of your fpath, as _mfctl

_mfctl() {
  local -a lines candidates
  local line files tab=$'\\t'
  lines=("\${(@f)$(mfctl __complete --shell zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "\${lines[@]}"; do
    case $line in
      ('') ;;
      (:files\\ <->) files=\${line#:files } ;;
      (*$tab?*) candidates+=("\${\${line%%$tab*}//:/\\\\:}:\${\${line#*$tab}//\\\\/\\\\\\\\}") ;;
      (*) candidates+=("\${\${line%%$tab*}//:/\\\\:}") ;;
    esac
  done
  if [[ -n $files ]]; then
    compset -p $files
    _files
  elif (( $#candidates )); then
    _describe -V -t mfctl mfctl candidates
  else
    return 1
  fi
}

if [[ $funcstack[1] == _mfctl ]]; then
  _mfctl "$@"
else
  compdef _mfctl mfctl
fi
`;

const fish = `# fish completion for mfctl: mfctl completion fish > ~/.config/fish/completions/mfctl.fish

function __mfctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (mfctl __complete --shell fish -- $words[2..] "$current" 2>/dev/null </dev/null)
        if string match -qr '^:files \\d+$' -- $line
            set -l from (string sub -s 8 -- $line)
            set -l head (string sub -l $from -- "$current")
            for file in (__fish_complete_path (string sub -s (math $from + 1) -- "$current"))
                printf '%s%s\\n' $head $file
            end
        else
            printf '%s\\n' $line
        end
    end
end

complete -c mfctl -f -k -a '(__mfctl_complete)'
`;

export const shellScripts: Record<Shell, string> = {bash, zsh, fish};
